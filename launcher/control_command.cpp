// Answers `muster status`, `stop` and `suspend` (docs/control.md), and sets up the workers on HAI.
#include "base/text.hpp"
#include "control/control.hpp"
#include "control/status.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"
#include "options/syntax.hpp"
#include "process/inherited.hpp"
#include "subcommands.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace muster {
namespace {

using std::chrono::milliseconds;

/// Longer than the 15 s in which the agent collects an answer from the whole job.
constexpr milliseconds kAnswerTimeout{20'000};
constexpr milliseconds kBetweenTables{2'000};
/// Moves the cursor to the upper left corner and erases all below it.
constexpr const char* kRepaint = "\033[H\033[J";

const char* name_of(Command command) {
  return command == Command::Status ? "status" : command == Command::Stop ? "stop" : "suspend";
}

Result<std::string> find_socket(const CommandLine& line, const Snapshot& snapshot) {
  const auto wanted = line.settings.find("job");
  const auto agent = control::choose_agent(control::find_agents(snapshot.variable("TMPDIR").value_or("/tmp")),
                                           wanted ? std::optional(wanted->value) : std::nullopt);
  return agent ? Result<std::string>(agent->socket) : agent.error();
}

Result<control::Request> read_request(const CommandLine& line) {
  const Settings& settings = line.settings;
  std::optional<milliseconds> time;
  if (line.command == Command::Status) {
    return control::Request(control::StatusRequest{});
  }
  if (line.command == Command::Stop) {
    const auto read = read_duration(time, settings, "grace");
    return read ? Result<control::Request>(control::StopRequest{time}) : read.error();
  }
  TRY(read_duration(time, settings, "within"));
  if (is_on(settings, "cancel") && (time || settings.has("reason"))) {
    return Error{ErrorKind::BadUsage, "--cancel withdraws a notice: it takes no --within and no --reason"};
  }
  if (is_on(settings, "cancel")) {
    return control::Request(control::WithdrawRequest{});
  }
  const auto reason = settings.find("reason");
  return control::Request(control::SuspendRequest{time, reason ? reason->value : ""});
}

std::string describe_status(const json::object& answer, bool is_json) {
  if (!is_json) {
    return control::status_table(answer, control::now_since_1970());
  }
  json::value document = answer;
  return pretty_json(document);
}

/// Sentence for the user about the result of the request.
std::string describe_answer(const CommandLine& line, const json::object& answer) {
  if (line.command == Command::Stop) {
    return "the job is ending\n";
  }
  if (const json::value* const end = answer.if_contains("end"); end != nullptr && end->is_string()) {
    constexpr std::size_t kMostBytes = 512;
    return "the job ends: " + one_line(std::string(end->get_string()), kMostBytes) + "\n";
  }
  const json::value* const notice = answer.if_contains("notice");
  if (notice == nullptr || !notice->is_object()) {
    return "the notice is withdrawn: the job goes on\n";
  }
  const json::value* const deadline = notice->get_object().if_contains("deadline");
  boost::system::error_code error;
  const double until = deadline != nullptr && deadline->is_number() ? deadline->to_number<double>(error) : 0;
  return "all workers are told: they have " + format_seconds(std::max(until - control::now_since_1970(), 0.0)) +
         " s to save\n";
}

/// Prints the status repeatedly until the job ends or the terminal closes.
Result<int> watch(const std::string& socket) {
  const std::string before_table = is_terminal(STDOUT_FILENO) ? kRepaint : "";
  while (true) {
    const auto answer = control::ask(socket, control::StatusRequest{}, kAnswerTimeout);
    if (!answer) {
      return print(answer.error().message + "\n");
    }
    TRY(print(before_table + describe_status(*answer, false)));
    std::this_thread::sleep_for(kBetweenTables);
  }
}

}  // namespace

bool is_control(Command command) {
  return command == Command::Status || command == Command::Stop || command == Command::Suspend;
}

Result<> read_control_line(CommandLine& line, std::span<const std::string> tokens) {
  std::vector<std::string> flags;
  const OptionTable table = control_options(line.command);
  bool is_value = false;
  for (const std::string& token : tokens) {
    if (!is_value && !token.starts_with('-')) {
      return Error{ErrorKind::BadUsage,
                   "'" + token + "' is nothing that muster " + name_of(line.command) + " takes; it has options only"};
    }
    const Option* const option =
        !is_value && token.starts_with("--") ? table.find(with_dashes(token).substr(2)) : nullptr;
    flags.push_back(is_value ? token : with_dashes(token));
    is_value = option != nullptr && option->argument != nullptr;
  }
  return read_flags(flags, table, line.settings);
}

Result<int> run_control(const CommandLine& line, const Snapshot& snapshot) {
  const auto request = TRY(read_request(line));
  const auto socket = TRY(find_socket(line, snapshot));
  const bool is_json = is_on(line.settings, "json");
  if (line.command == Command::Status && is_on(line.settings, "watch") && !is_json) {
    return watch(socket);
  }
  const auto answer = TRY(control::ask(socket, request, kAnswerTimeout));
  return print(line.command == Command::Status ? describe_status(answer, is_json) : describe_answer(line, answer));
}

// HAI: finds the package hfai, and the training task whose manager sends notices.
// Source: HFAiLab/hai-platform, the environment of a training task and the names of its pods.

namespace {

constexpr const char* kHai = "hai";
constexpr const char* kOption = "compat-hfai";

/// Names both directories where the modules are expected.
std::string describe_places() {
  const auto places = own_module_places();
  return "neither '" + places[0] + "' nor '" + places[1] + "' is there";
}

/// Puts the directory first in PYTHONPATH. An empty part of the list would mean the worker's directory.
void add_python_path(PlanInput& input, const std::string& folder) {
  const auto [path, is_new] = input.job.exported.try_emplace("PYTHONPATH");
  if (is_new) {
    path->second = input.snapshot.variable("PYTHONPATH").value_or("");
  }
  path->second = folder + (path->second.empty() ? "" : ":") + path->second;
}

}  // namespace

Result<> read_compat_hfai(Options& options, const Settings& settings) {
  const auto given = settings.find(kOption);
  if (!given) {
    return {};
  }
  for (const auto& [word, when] :
       {std::pair("auto", When::Auto), std::pair("always", When::Always), std::pair("never", When::Never)}) {
    if (given->value == word) {
      options.compat_hfai = {when, given->source};
      return {};
    }
  }
  return wrong_value(*given, "auto, always or never");
}

Result<> add_hfai(PlanInput& input, const Options& options) {
  const auto& [when, source] = options.compat_hfai;
  if (when == When::Never || (when == When::Auto && input.cluster.platform != kHai)) {
    return {};
  }
  if (const std::string modules = find_own_modules(); !modules.empty()) {
    add_python_path(input, modules);
    return {};
  }
  if (when == When::Always) {
    return wrong_value({"always", source}, "an installation with the modules for Python, and " + describe_places());
  }
  input.cluster.notices.push_back("scripts do not find muster's package hfai: " + describe_places());
  return {};
}

std::optional<HaiTask> find_hai_task(const LaunchPlan& plan, const Snapshot& snapshot) {
  if (plan.cluster.platform != kHai || plan.placement.node_rank.value != 0) {
    return std::nullopt;
  }
  HaiTask task;
  task.is_training = snapshot.variable("MARSV2_TASK_TYPE") == "training";
  const std::string user = snapshot.variable("MARSV2_USER").value_or("");
  const std::string id = snapshot.variable("MARSV2_TASK_ID").value_or("");
  if (!user.empty() && !id.empty()) {
    task.manager = user + "-" + id + "-manager-0";
    std::replace(task.manager.begin(), task.manager.end(), '_', '-');
  }
  return task;
}

}  // namespace muster
