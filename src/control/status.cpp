// Writes and joins the nodes' status lines, and prints the table of `muster status`.
#include "control/status.hpp"

#include "base/display_text.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace muster::control {
namespace {

constexpr std::size_t kMostNameBytes = 64;

template <typename T>
void add(json::object& object, const char* name, const std::optional<T>& value) {
  if (value) {
    object[name] = *value;
  }
}

json::object document_of(const WorkerStatus& worker) {
  json::object object{
      {"rank", worker.global_rank}, {"local_rank", worker.local_rank}, {"role", worker.role}, {"state", worker.state}};
  if (worker.pid > 0) {
    object["pid"] = worker.pid;
    object["since"] = std::round(worker.since * 1'000) / 1'000;
  }
  add(object, "cpu_s", worker.cpu_seconds);
  add(object, "memory_bytes", worker.memory_bytes);
  add(object, "output_age_s", worker.output_age);
  add(object, "heartbeat_age_s", worker.heartbeat_age);
  add(object, "step", worker.step);
  if (!worker.numbers.empty()) {
    object["numbers"] = worker.numbers;
  }
  return object;
}

// --- The table of muster status -----------------------------------------------------------------

const json::value* find(const json::object& object, const char* name) {
  const json::value* const value = object.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

/// Reads a field as text. The answer may come from another version of muster: any JSON type is accepted.
std::string text_at(const json::object& object, const char* name) {
  const json::value* const value = find(object, name);
  if (value == nullptr) {
    return "-";
  }
  return one_line(value->is_string() ? std::string(value->get_string()) : json::serialize(*value), kMostNameBytes);
}

std::optional<double> number_at(const json::object& object, const char* name) {
  const json::value* const value = find(object, name);
  return value != nullptr && value->is_number() ? std::optional(value->to_number<double>()) : std::nullopt;
}

json::array array_at(const json::object& object, const char* name) {
  const json::value* const value = find(object, name);
  return value != nullptr && value->is_array() ? value->get_array() : json::array();
}

json::object object_of(const json::value& value) {
  return value.is_object() ? value.get_object() : json::object();
}

std::string short_bytes(std::optional<double> bytes) {
  if (!bytes) {
    return "-";
  }
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  constexpr double kStep = 1'024;
  constexpr double kMost = 1e18;
  double size = std::clamp(*bytes, 0.0, kMost);
  std::size_t unit = 0;
  while (size >= kStep && unit + 1 < kUnits.size()) {
    size /= kStep;
    ++unit;
  }
  const auto tenths = static_cast<long>(size * 10);
  constexpr double kWhole = 10;
  return std::to_string(tenths / 10) + (unit > 0 && size < kWhole ? "." + std::to_string(tenths % 10) : "") + " " +
         kUnits.at(unit);
}

using Row = std::vector<std::string>;

/// Lays out the columns that hold something, each as wide as its widest cell.
std::string layout(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], columns_of_text(row[i]));
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - columns_of_text(row[i]) + 2, ' ');
    }
    text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

Row row_of(const json::object& node, const json::object& worker, double now) {
  const auto since = number_at(worker, "since");
  std::string step = text_at(worker, "step");
  if (const auto heartbeat = number_at(worker, "heartbeat_age_s"); heartbeat && step == "-") {
    step = "heartbeat " + short_duration(heartbeat) + " ago";
  }
  return {text_at(node, "node"),
          text_at(node, "host"),
          text_at(worker, "rank"),
          text_at(worker, "role"),
          text_at(worker, "state"),
          text_at(worker, "pid"),
          text_at(node, "attempt"),
          short_duration(since ? std::optional(now - *since) : std::nullopt),
          short_duration(number_at(worker, "cpu_s")),
          short_bytes(number_at(worker, "memory_bytes")),
          short_duration(number_at(worker, "output_age_s")),
          step};
}

/// "node 3 (gpu-3) differs from the others: driver 570.86 (580.95)", "node 3 (gpu-3) is suspect: ..."; usually empty.
std::string describe_remarks(const json::object& node) {
  constexpr std::size_t kMostBytes = 512;
  std::string lines;
  for (const auto& [name, verb] :
       {std::pair("differs", " differs from the others: "), std::pair("suspect", " is suspect: ")}) {
    if (const std::string_view text = text_of(node, name); !text.empty()) {
      lines += "node " + text_at(node, "node") + " (" + text_at(node, "host") + ")" + verb +
               one_line(text, kMostBytes) + "\n";
    }
  }
  return lines;
}

std::string describe_notice(const json::object& job, double now) {
  const json::value* const value = find(job, "notice");
  if (value == nullptr) {
    return {};
  }
  const json::object notice = object_of(*value);
  const auto deadline = number_at(notice, "deadline");
  return "to be suspended (" + text_at(notice, "source") +
         "): " + short_duration(deadline ? std::optional(*deadline - now) : std::nullopt) + " left to save\n";
}

}  // namespace

std::string short_duration(std::optional<double> seconds) {
  constexpr long kMinute = 60;
  constexpr long kHour = 3'600;
  constexpr long kDay = 86'400;
  if (!seconds) {
    return "-";
  }
  const auto whole = static_cast<long>(std::clamp(*seconds, 0.0, 1e12));
  const auto two = [](long number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  if (whole < kMinute) {
    return std::to_string(whole) + "s";
  }
  if (whole < kHour) {
    return std::to_string(whole / kMinute) + "m" + two(whole % kMinute) + "s";
  }
  if (whole < kDay) {
    return std::to_string(whole / kHour) + "h" + two(whole % kHour / kMinute) + "m";
  }
  return std::to_string(whole / kDay) + "d" + two(whole % kDay / kHour) + "h";
}

std::string to_line(const NodeStatus& status, std::size_t most_bytes) {
  json::object object{{"host", status.host}, {"pid", status.pid}, {"state", status.state}, {"attempt", status.attempt}};
  add(object, "node", status.node);
  if (status.standbys > 0) {
    object["standbys"] = status.standbys;
  }
  json::array workers;
  constexpr std::size_t kMargin = 256;
  std::size_t bytes = json::serialize(object).size() + kMargin;
  for (const WorkerStatus& worker : status.workers) {
    json::value document = document_of(worker);
    make_valid_utf8(document);
    bytes += json::serialize(document).size() + 1;
    if (bytes > most_bytes) {
      object["workers_left_out"] = status.workers.size() - workers.size();
      break;
    }
    workers.push_back(std::move(document));
  }
  object["workers"] = std::move(workers);
  json::value document = std::move(object);
  make_valid_utf8(document);
  return json::serialize(document);
}

std::string add_text(std::string line, const char* name, const std::string& text) {
  auto node = text.empty() ? std::nullopt : parse_object(line);
  if (!node) {
    return line;
  }
  (*node)[name] = text;
  return json::serialize(*node);
}

json::array join_nodes(const std::vector<std::string>& lines) {
  std::vector<json::object> nodes;
  for (const std::string& line : lines) {
    if (auto node = parse_object(line)) {
      nodes.push_back(std::move(*node));
    }
  }
  const auto rank = [](const json::object& node) { return number_at(node, "node").value_or(1e9); };
  std::ranges::stable_sort(nodes, {}, rank);
  return json::array(nodes.begin(), nodes.end());
}

namespace {

std::size_t count_missing(const json::object& answer) {
  constexpr double kMostNodes = 1e9;
  return static_cast<std::size_t>(std::clamp(number_at(answer, "missing").value_or(0), 0.0, kMostNodes));
}

}  // namespace

std::string silent_nodes_line(const json::object& answer) {
  constexpr std::size_t kMostNameBytes = 2'048;
  const std::size_t missing = count_missing(answer);
  const std::string_view names = text_of(answer, "missing_nodes");
  const std::string who = names.empty() ? count_of(missing, "node") : one_line(names, kMostNameBytes);
  return missing > 0 ? who + " did not answer in time\n" : "";
}

std::string status_table(const json::object& answer, double now) {
  const json::value* const given = find(answer, "job");
  const json::object job = given == nullptr ? json::object() : object_of(*given);
  std::vector<Row> rows = {
      {"NODE", "HOST", "RANK", "ROLE", "STATE", "PID", "ATTEMPT", "SINCE", "CPU", "MEMORY", "OUTPUT", "STEP"}};
  std::string remarks;
  std::size_t workers = 0;
  std::size_t running = 0;
  double standbys = 0;
  double cpu = 0;
  double memory = 0;
  const json::array nodes = array_at(answer, "nodes");
  for (const json::value& value : nodes) {
    const json::object node = object_of(value);
    const json::array listed = array_at(node, "workers");
    standbys += number_at(node, "standbys").value_or(0);
    remarks += describe_remarks(node);
    if (listed.empty()) {
      rows.push_back({text_at(node, "node"), text_at(node, "host"), "-", "-", text_at(node, "state")});
      rows.back().resize(rows.front().size(), "-");
    }
    for (const json::value& one : listed) {
      const json::object worker = object_of(one);
      rows.push_back(row_of(node, worker, now));
      ++workers;
      running += text_at(worker, "state") == "running" ? 1 : 0;
      cpu += number_at(worker, "cpu_s").value_or(0);
      memory += number_at(worker, "memory_bytes").value_or(0);
    }
  }
  constexpr double kMostNodes = 1e9;
  const std::size_t missing = count_missing(answer);
  const std::string all = count_of(nodes.size() + missing, "node");
  const auto ready = static_cast<std::size_t>(std::clamp(standbys, 0.0, kMostNodes));
  const auto since = number_at(job, "since");
  std::string text = "job " + text_at(job, "id") + ", " +
                     (since ? "since " + short_duration(now - *since) + ", " : "") +
                     (missing > 0 ? std::to_string(nodes.size()) + " of " : "") + all + ", " + std::to_string(running) +
                     " of " + count_of(workers, "worker") + " running, " +
                     (ready > 0 ? count_of(ready, "standby") + " ready, " : "") + "CPU " + short_duration(cpu) +
                     ", memory " + short_bytes(memory) + "\n" + describe_notice(job, now) + silent_nodes_line(answer);
  return text + remarks + "\n" + layout(rows);
}

std::optional<Heartbeat> parse_heartbeat(std::string_view bytes) {
  constexpr std::string_view kMagic = "MUSTERH1";
  constexpr std::size_t kNumbersAt = 40;
  constexpr std::size_t kMostNumbers = 1'024;
  if (bytes.size() < kNumbersAt || !bytes.starts_with(kMagic)) {
    return std::nullopt;
  }
  const auto at = [&](auto& target, std::size_t offset) {
    std::memcpy(&target, bytes.data() + offset, sizeof(target));
  };
  Heartbeat heartbeat;
  std::int64_t step = -1;
  std::uint32_t sequence = 0;
  std::uint32_t length = 0;
  at(heartbeat.at, 8);
  at(step, 24);
  at(sequence, 32);
  at(length, 36);
  if (!std::isfinite(heartbeat.at) || heartbeat.at <= 0) {
    return std::nullopt;
  }
  if (step >= 0) {
    heartbeat.step = step;
  }
  const bool is_whole = sequence % 2 == 0 && length <= kMostNumbers && kNumbersAt + length <= bytes.size();
  if (is_whole && length > 0) {
    heartbeat.numbers = parse_object(bytes.substr(kNumbersAt, length)).value_or(json::object());
  }
  return heartbeat;
}

std::string jobs_table(const std::vector<FoundAgent>& jobs, double now) {
  std::vector<Row> rows = {{"JOB", "PID", "STATE", "NODES", "SINCE", "PROGRAM", "FOLDER"}};
  constexpr std::size_t kMostBytes = 60;  // of a program; JSON has it whole
  const auto text_or_dash = [](const std::string& text) { return text.empty() ? "-" : visible_line(text); };
  for (const FoundAgent& job : jobs) {
    rows.push_back({text_or_dash(job.job_id), job.pid > 0 ? std::to_string(job.pid) : "-", visible_line(job.state),
                    job.is_silent ? "-" : std::to_string(job.nodes),
                    short_duration(job.is_silent ? std::nullopt : std::optional(now - job.since)),
                    text_or_dash(shortened(job.program, kMostBytes)), text_or_dash(job.folder)});
  }
  return layout(rows);
}

json::array jobs_document(const std::vector<FoundAgent>& jobs) {
  json::array documents;
  for (const FoundAgent& job : jobs) {
    json::object document{{"id", job.job_id.empty() ? json::value() : json::value(job.job_id)},
                          {"pid", job.pid},
                          {"user", job.peer.uid},
                          {"state", job.state}};
    if (!job.is_silent) {
      document["nodes"] = job.nodes;
      document["since"] = job.since;
      document["program"] = job.program;
      document["folder"] = job.folder;
      document["version"] = job.version;
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace muster::control
