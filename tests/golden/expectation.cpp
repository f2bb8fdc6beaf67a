// Writes a plan as the lines that golden cases hold. All that is in the plan's document is in them once.
#include "expectation.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <map>

namespace muster::golden {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kError = "! ";

/// Text as it is, all else as JSON writes it; in one line.
std::string text_of(const json::value& value) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : json::serialize(value);
  const std::vector<std::string> lines = split(text, '\n');
  return join(lines, "\\n");
}

/// "a, b x3": equal neighbours once.
std::string list_of(const json::array& values, const std::string& separator) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t same = i + 1;
    while (same < values.size() && values[same] == values[i]) {
      ++same;
    }
    const std::string text = values[i].is_null() ? "?" : text_of(values[i]);
    texts.push_back(same - i == 1 ? text : text + " x" + std::to_string(same - i));
    i = same;
  }
  return join(texts, separator);
}

void add(Lines& lines, const std::string& field, const std::string& value) {
  lines.push_back("> " + field + ": " + (value.empty() ? "(nothing)" : value));
}

/// A field that no decision tells.
void add_undecided(Lines& lines, const json::object& document, const std::string& field, const json::value& value) {
  for (const json::value& decision : document.at("decisions").as_array()) {
    if (text_of(decision.at("field")) == field && text_of(decision.at("value")) == text_of(value)) {
      return;
    }
  }
  add(lines, field, text_of(value));
}

/// "worker 4-7, ps 9": the processes of this node by role, with their global ranks.
std::string text_of_ranks(const json::array& processes) {
  std::map<std::string, std::vector<int>> ranks;
  for (const json::value& process : processes) {
    ranks[text_of(process.at("role"))].push_back(process.at("global_rank").to_number<int>());
  }
  std::vector<std::string> texts;
  for (const auto& [role, of_role] : ranks) {
    texts.push_back(role + " " + describe_ranges(of_role));
  }
  return join(texts, ", ");
}

/// A long content is told from others by its size and digest.
json::value shortened(json::value file) {
  constexpr std::size_t kMost = 1'000;
  json::value* const content = file.as_object().if_contains("content");
  if (content != nullptr && content->as_string().size() > kMost) {
    const std::string text = text_of(*content);
    *content = std::to_string(text.size()) + " bytes, " + digest_of(text);
  }
  return file;
}

/// All but what the processes are given.
Lines lines_of_job(const json::object& document) {
  Lines lines;
  for (const json::value& decision : document.at("decisions").as_array()) {
    add(lines, text_of(decision.at("field")),
        text_of(decision.at("value")) + " (" + text_of(decision.at("source")) + ")");
  }
  const json::object& nodes = document.at("nodes").as_object();
  const json::object& rendezvous = document.at("rendezvous").as_object();
  add_undecided(lines, document, "platform", document.at("platform"));
  add_undecided(lines, document, "mode", document.at("mode"));
  add_undecided(lines, document, "nodes.count", nodes.at("count"));
  add_undecided(lines, document, "nodes.rank", nodes.at("rank"));
  add_undecided(lines, document, "rendezvous.address", rendezvous.at("address"));
  add_undecided(lines, document, "rendezvous.port", rendezvous.at("port"));
  add(lines, "hosts", list_of(nodes.at("hosts").as_array(), ", "));
  add(lines, "slots", list_of(nodes.at("slots").as_array(), ", "));
  add(lines, "world_size", text_of(document.at("world_size")));
  add(lines, "processes", text_of_ranks(document.at("processes").as_array()));
  for (const json::value& file : document.at("files").as_array()) {
    add(lines, "file " + text_of(file.at("path")), json::serialize(shortened(file)));
  }
  return lines;
}

/// The fields of a process, each as one text; its variables are fields, too.
std::map<std::string, std::string> fields_of(const json::object& process) {
  std::map<std::string, std::string> fields;
  for (const auto& member : process) {
    const std::string name(member.key());
    if (name == "env") {
      for (const auto& variable : member.value().as_object()) {
        fields[std::string(variable.key())] = text_of(variable.value());
      }
    } else if (member.value().is_array()) {
      fields[name] = list_of(member.value().as_array(), " ");
    } else if (name != "role" && name != "global_rank") {
      fields[name] = text_of(member.value());
    }
  }
  return fields;
}

/// One line for each field of the role's processes: its value, or those of the processes in turn where
/// they differ.
void add_role(Lines& lines, const std::string& role, const std::vector<std::map<std::string, std::string>>& processes) {
  std::map<std::string, std::vector<std::string>> values;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (const auto& [field, value] : processes[i]) {
      values.try_emplace(field, processes.size(), "-").first->second[i] = value;
    }
  }
  for (const auto& [field, of_each] : values) {
    const bool are_same = std::adjacent_find(of_each.begin(), of_each.end(), std::not_equal_to<>()) == of_each.end();
    add(lines, role + "." + field, are_same ? of_each.front() : join(of_each, " | "));
  }
}

Lines lines_of_processes(const json::object& document) {
  std::map<std::string, std::vector<std::map<std::string, std::string>>> roles;
  for (const json::value& process : document.at("processes").as_array()) {
    roles[text_of(process.at("role"))].push_back(fields_of(process.as_object()));
  }
  Lines lines;
  for (const auto& [role, processes] : roles) {
    add_role(lines, role, processes);
  }
  return lines;
}

/// Values that were seen and not used: "> lost FIELD NAME: VALUE (WHY)".
Lines lines_of_lost(const json::object& document) {
  Lines lines;
  for (const json::value& lost : document.at("not_used").as_array()) {
    const std::string field = lost.at("field").is_null() ? "" : text_of(lost.at("field")) + " ";
    add(lines, "lost " + field + text_of(lost.at("source")),
        text_of(lost.at("value")) + " (" + text_of(lost.at("why")) + ")");
  }
  return lines;
}

json::object document_of(const LaunchPlan& plan) {
  return to_document(plan).as_object();
}

/// The processes' lines that the same mode gives to the same nodes without any option. They are implied and left out
/// of the expectation; a template of the user's own implies none.
Lines implied_lines(const Planned& planned, const Case& given) {
  if (given.is_full || !planned.input) {
    return {};
  }
  Settings settings;
  settings.set("mode", {planned.plan.mode, from_flag("--mode")});
  const auto mode = choose_mode(read_mode_request(settings));
  if (!mode) {
    return {};
  }
  Cluster cluster = planned.input->cluster;
  cluster.job.endpoints.clear();  // no decision tells them, so the processes must
  cluster.has_task_config = false;
  JobRequest job;
  job.program = Case().program;
  Snapshot snapshot;
  snapshot.host_name = given.snapshot.host_name;
  snapshot.working_directory = given.snapshot.working_directory;
  snapshot.cores = given.snapshot.cores;
  return lines_of_processes(document_of(make_plan({cluster, *mode, job, snapshot})));
}

/// "> FIELD", up to the colon behind it.
std::string field_of(const std::string& line) {
  return line.substr(0, line.find(": "));
}

}  // namespace

Lines without_those_of(const Lines& parent, const Lines& lines) {
  if (parent.empty() || parent.front().starts_with(kError) || lines.front().starts_with(kError)) {
    return lines;
  }
  Lines fresh;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(fresh),
               [&](const auto& line) { return std::find(parent.begin(), parent.end(), line) == parent.end(); });
  for (const std::string& line : parent) {
    const bool is_there =
        std::any_of(lines.begin(), lines.end(), [&](const auto& other) { return field_of(other) == field_of(line); });
    if (!is_there) {
      fresh.push_back("> no " + field_of(line).substr(2));
    }
  }
  return fresh;
}

Lines expectation_of(const Case& given) {
  const auto planned = plan_of(given);
  if (!planned) {
    const Error& error = planned.error();
    return {std::string(kError) + std::to_string(error.exit_code()) + " " + text_of(json::value(error.message))};
  }
  const json::object document = document_of(planned->plan);
  Lines lines = lines_of_job(document);
  for (const std::string& notice : planned->plan.cluster.notices) {
    if (!notice.starts_with("scripts do not find")) {  // it names a folder of the build
      add(lines, "notice", notice);
    }
  }
  if (!planned->nested_notice.empty()) {
    add(lines, "warning", planned->nested_notice);
  }
  if (given.shows_lost) {
    const Lines lost = lines_of_lost(document);
    lines.insert(lines.end(), lost.begin(), lost.end());
  }
  for (const std::string& line : without_those_of(implied_lines(*planned, given), lines_of_processes(document))) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace muster::golden
