// Answers `muster status`, `stacks`, `stop` and `suspend` (docs/control.md), and sets up the workers on HAI.
#include "base/display_text.hpp"
#include "base/text.hpp"
#include "control/control.hpp"
#include "control/status.hpp"
#include "environment/snapshot.hpp"
#include "hang/evidence.hpp"
#include "options/settings.hpp"
#include "options/syntax.hpp"
#include "output/byte_sink.hpp"
#include "plan/make_plan.hpp"
#include "process/inherited.hpp"
#include "subcommands.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

namespace muster {
namespace {

using std::chrono::milliseconds;

/// The options of these commands.
struct ControlOptions {
  std::optional<std::string> job;
  std::optional<milliseconds> time;  ///< --grace or --within
  std::optional<std::string> reason;
  bool is_withdrawn = false;
  bool is_watching = false;
  bool is_json = false;
  control::AskNccl nccl = control::AskNccl::No;
};

Result<control::AskNccl> read_ask_nccl(const Sourced<std::string>& given) {
  if (given.value != "1" && given.value != "yes") {
    return wrong_value(given, "no value, or yes");
  }
  return given.value == "yes" ? control::AskNccl::Always : control::AskNccl::IfSound;
}

constexpr Option job_option(const char* section, const char* words) {
  return {"job", "ID|PID", section, words, kInto<&ControlOptions::job, read_text>};
}

constexpr const char* kNeededWhereSeveralRun =
    "The job: its id, or the pid of muster. Needed where several run on this machine.";

constexpr Option help_option(const char* section) {
  return {"help", nullptr, section, "Print this text.", kReadByCode, nullptr, 'h'};
}

constexpr auto kStatusTable = std::to_array<Option>({
    job_option("Status",
               "The job: its id, or the pid of muster. Without it all jobs are listed where several run here."),
    {"watch", nullptr, "Status",
     "Show it anew every two seconds, until the job ends: on a terminal as much as has room.",
     kInto<&ControlOptions::is_watching, read_whether_on>},
    {"json", nullptr, "Status", "Print JSON: the answer of the job, or {\"jobs\": [...]} where several run here.",
     kInto<&ControlOptions::is_json, read_whether_on>},
    help_option("Status"),
});

constexpr auto kStacksTable = std::to_array<Option>({
    job_option("Stacks", kNeededWhereSeveralRun),
    {"json", nullptr, "Stacks", "Print JSON.", kInto<&ControlOptions::is_json, read_whether_on>},
    {"ask-nccl", "[=yes]", "Stacks",
     "Ask NCCL, too, in a job that was started with nccl in --hang-ask. This may crash the job: several versions of "
     "NCCL have faults there. Not asked are versions with a known fault and unknown ones, except with =yes.",
     kInto<&ControlOptions::nccl, read_ask_nccl>},
    help_option("Stacks"),
});

constexpr auto kStopTable = std::to_array<Option>({
    job_option("Stop", kNeededWhereSeveralRun),
    {"grace", "SECONDS", "Stop",
     "Time between asking the workers to end and killing them, at most what the job was started with.",
     kInto<&ControlOptions::time, read_seconds>},
    help_option("Stop"),
});

constexpr auto kSuspendTable = std::to_array<Option>({
    job_option("Suspend", kNeededWhereSeveralRun),
    {"within", "SECONDS", "Suspend",
     "Time for the workers to save, at most the job's --suspend-timeout, which is the default.",
     kInto<&ControlOptions::time, read_seconds>},
    {"reason", "TEXT", "Suspend", "Why, for the report and the workers.", kInto<&ControlOptions::reason, read_text>},
    {"cancel", nullptr, "Suspend", "Withdraw the notice: the job goes on.",
     kInto<&ControlOptions::is_withdrawn, read_whether_on>},
    help_option("Suspend"),
});

// Option names that users have tried, each with the right one.
constexpr auto kOtherStopNames = std::to_array<OtherName>({{"timeout", "grace"}, {"within", "grace"}});
constexpr auto kStopRemarks = std::to_array<OptionRemark>({
    {"now", "'muster stop --grace 0' kills the workers at once"},
    {"force", "'muster stop --grace 0' kills the workers at once"},
});
constexpr auto kOtherSuspendNames =
    std::to_array<OtherName>({{"timeout", "within"}, {"suspend-timeout", "within"}, {"grace", "within"}});

/// Timeout for the answer. The agent itself waits 15 s for the other nodes, so this is longer.
constexpr milliseconds kAnswerTimeout{20'000};
constexpr milliseconds kBetweenTables{2'000};
/// Moves the cursor to the upper left corner and erases all below it.
constexpr const char* kRepaint = "\033[H\033[J";

Result<control::Request> request_of(Command command, const ControlOptions& options) {
  if (command == Command::Status) {
    return control::Request(control::StatusRequest{});
  }
  if (command == Command::Stacks) {
    return control::Request(control::StacksRequest{options.nccl});
  }
  if (command == Command::Stop) {
    return control::Request(control::StopRequest{options.time});
  }
  if (options.is_withdrawn && (options.time || options.reason)) {
    return Error{ErrorKind::BadUsage, "--cancel withdraws a notice: it takes no --within and no --reason"};
  }
  if (options.is_withdrawn) {
    return control::Request(control::WithdrawRequest{});
  }
  return control::Request(control::SuspendRequest{options.time, options.reason.value_or("")});
}

std::string describe_status(const json::object& answer) {
  return control::status_table(answer, control::now_since_1970());
}

/// Sentence for the user about the result of the request; `within`: the time to save that was asked for.
std::string describe_answer(const CommandLine& line, const json::object& answer, std::optional<milliseconds> within) {
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
  const std::string told(text_of(notice->get_object(), "told"));
  constexpr std::size_t kMostBytes = 512;
  const double left = std::max(until - control::now_since_1970(), 0.0);
  const double wanted = within ? std::chrono::duration<double>(*within).count() : 0;
  const std::string not_wanted =
      ", not " + format_seconds(wanted) + ": the job's --suspend-timeout, or an earlier notice, is shorter";
  return "the workers have " + format_seconds(left) + " s to save" + (left + 1 < wanted ? not_wanted : "") +
         (told.empty() ? "" : "; " + one_line(told, kMostBytes)) + "\n";
}

/// The stacks as text; the answer has a sentence about NCCL if NCCL was to be asked.
std::string describe_stacks(const json::object& answer) {
  constexpr std::size_t kMostBytes = 512;
  const json::value* const nccl = answer.if_contains("nccl");
  return hang::stacks_text(answer) + control::silent_nodes_line(answer) +
         (nccl != nullptr && nccl->is_string() ? one_line(std::string(nccl->get_string()), kMostBytes) + "\n" : "");
}

/// The beginning of the line that fits into this number of columns.
std::string_view cut_at(std::size_t columns, std::string_view line) {
  std::size_t end = 0;
  while (end < line.size()) {
    const std::size_t next = end + std::max(utf8_sequence(line.substr(end)), std::size_t{1});
    if (columns_of_text(line.substr(0, next)) > columns) {
      break;
    }
    end = next;
  }
  return line.substr(0, end);
}

/// The lines that fit on a terminal of this size, each cut at its width. The last row stays free for the cursor.
std::string fit_to(const WindowSize& size, const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');  // the last one is empty: it is the cursor's
  const std::size_t rows = size.rows > 1 ? size.rows : lines.size();
  const std::size_t shown = lines.size() > rows ? rows - 2 : lines.size() - 1;
  std::string fitted;
  for (const std::string& line : std::span(lines).first(shown)) {
    fitted.append(size.columns > 0 ? cut_at(size.columns, line) : line) += '\n';
  }
  const std::size_t more = lines.size() - 1 - shown;
  return fitted + (more > 0 ? "... " + count_of(more, "more line") + "\n" : "");
}

/// Prints the status until the job ends or the terminal closes. `is_redrawn`: each status replaces the last one.
Result<int> watch(const control::FoundAgent& agent, bool is_redrawn) {
  while (true) {
    const auto answer = control::ask(agent, control::StatusRequest{}, kAnswerTimeout);
    if (!answer) {
      const bool has_ended = answer.error().message.ends_with("ended before it answered");
      return print((is_redrawn ? kRepaint : "") +
                   (has_ended ? "the job has ended; 'muster last' shows how" : answer.error().message) + "\n");
    }
    const WindowSize size = window_size_of(STDOUT_FILENO).value_or(WindowSize());
    const std::string table = describe_status(*answer);
    TRY(print(is_redrawn ? kRepaint + fit_to(size, table) : table));
    std::this_thread::sleep_for(kBetweenTables);
  }
}

Result<int> list_jobs(const std::vector<control::FoundAgent>& jobs, bool is_json) {
  const bool has_silent = std::ranges::any_of(jobs, &control::FoundAgent::is_silent);
  return print(
      is_json ? pretty_json(json::object{{"jobs", control::jobs_document(jobs)}})
              : control::jobs_table(jobs, control::now_since_1970()) + "Of one of them: muster status --job PID\n" +
                    (has_silent ? "A job that does not answer ends by 'kill PID', also one that stands still\n" : ""));
}

}  // namespace

const OptionTable kStatusOptions{kStatusTable, {}, {}, "muster status"};
const OptionTable kStacksOptions{kStacksTable, {}, {}, "muster stacks"};
const OptionTable kStopOptions{kStopTable, {}, kOtherStopNames, "muster stop", kStopRemarks};
const OptionTable kSuspendOptions{kSuspendTable, {}, kOtherSuspendNames, "muster suspend"};

Result<int> run_control(const CommandLine& line, const Snapshot& snapshot, const Inherited& /*inherited*/) {
  ControlOptions options;
  TRY(read_rows(options, find_subcommand(line.command)->options->options, line.settings));
  const auto request = TRY(request_of(line.command, options));
  const control::Found found = control::find_agents(snapshot.variable("TMPDIR").value_or("/tmp"));
  const bool lists_all = line.command == Command::Status && !options.job;
  const auto jobs = lists_all ? control::all_jobs(found) : std::vector<control::FoundAgent>();
  if (jobs.size() > 1) {
    return list_jobs(jobs, options.is_json);
  }
  const auto agent = TRY(control::choose_agent(found, options.job));
  if (line.command == Command::Status && options.is_watching && !options.is_json) {
    const std::string kind = snapshot.variable("TERM").value_or("dumb");
    return watch(agent, is_terminal(STDOUT_FILENO) && kind != "dumb");
  }
  const auto answer = TRY(control::ask(agent, request, kAnswerTimeout));
  return print(options.is_json                   ? pretty_json(json::value(answer))
               : line.command == Command::Status ? describe_status(answer)
               : line.command == Command::Stacks ? describe_stacks(answer)
                                                 : describe_answer(line, answer, options.time));
}

// HAI: finds the package hfai, and the training task whose manager sends notices.
// Source: HFAiLab/hai-platform, the environment of a training task and the names of its pods.

namespace {

constexpr const char* kHai = "hai";

/// Names both directories where the modules are expected.
std::string describe_places() {
  const auto places = own_module_places();
  return "neither '" + places[0] + "' nor '" + places[1] + "' is there";
}

}  // namespace

Result<> add_hfai(PlanInput& input, const Options& options) {
  const auto& [when, source] = options.compat_hfai;
  if (when == When::Never || (when == When::Auto && input.cluster.platform != kHai)) {
    return {};
  }
  if (const std::string modules = find_own_modules(); !modules.empty()) {
    add_python_path(input.job.exported, modules, input.snapshot);
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
    std::ranges::replace(task.manager, '_', '-');
  }
  return task;
}

}  // namespace muster
