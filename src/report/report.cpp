// Describes what happened in sentences and as a document (pure), and keeps the history of runs in the state folder.
#include "report/report.hpp"

#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "platforms/facts.hpp"
#include "process/helper_process.hpp"
#include "report/failure_lines.hpp"
#include "supervise/job_end.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>

namespace muster {
namespace {

const char* name_of(WorkerOutcome outcome) {
  switch (outcome) {
    case WorkerOutcome::NeverStarted:
      return "never started";
    case WorkerOutcome::Running:
      return "running";  // only for a process that could not be killed
    case WorkerOutcome::Succeeded:
      return "succeeded";
    case WorkerOutcome::Failed:
      return "failed";
    case WorkerOutcome::Stopped:
      return "stopped";
  }
  return "";
}

ProcessNames names_with(const Outcome& outcome, WorkerOutcome wanted) {
  ProcessNames names;
  for (const WorkerResult& worker : outcome.workers) {
    const bool has_erred = outcome.end.verdict == Verdict::Suspended && erred_when_asked(worker.outcome, worker.status);
    const auto shown = has_erred ? WorkerOutcome::Failed : worker.outcome;
    if (shown == wanted) {
      names.add(worker);
    }
  }
  return names;
}

void add_ranks(std::vector<ReportLine>& lines, const Outcome& outcome, WorkerOutcome wanted, const std::string& what) {
  if (const auto names = names_with(outcome, wanted); names.size() > 0) {
    lines.push_back({Level::Warning, what + ": " + names.describe()});
  }
}

/// Adds the ranks of all nodes that may not have saved.
void add_erred_after_notice(std::vector<ReportLine>& lines, const Outcome& outcome) {
  ProcessNames names = names_with(outcome, WorkerOutcome::Failed);
  for (const int rank : outcome.end.erred_after_notice) {
    WorkerResult erred;
    erred.global_rank = GlobalRank{rank};
    names.add(erred);
  }
  if (names.size() > 0) {
    lines.push_back({Level::Warning, "ended with an error after the notice: " + names.describe()});
  }
}

json::value signal_document(const std::optional<ExitStatus>& status) {
  return status && status->signal() ? json::value(signal_name(*status->signal())) : json::value(nullptr);
}

json::value code_document(const std::optional<ExitStatus>& status) {
  return status && status->code() ? json::value(*status->code()) : json::value(nullptr);
}

json::value pid_document(pid_t pid) {
  return pid > 0 ? json::value(pid) : json::value(nullptr);
}

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

/// Rounds to milliseconds.
double rounded(double seconds) {
  return static_cast<double>(static_cast<long long>(seconds * 1000)) / 1000;
}

json::object failure_document(const Failure& failure, const std::vector<std::string>& advice) {
  const auto rank_or_null = [&](int rank) {  // a service has no rank
    return failure.service.empty() ? json::value(rank) : json::value(nullptr);
  };
  return json::object{{"node", failure.node.value},
                      {"host", failure.host},
                      {"service", text_or_null(failure.service)},
                      {"role", text_or_null(failure.role)},
                      {"global_rank", rank_or_null(failure.global_rank.value)},
                      {"local_rank", rank_or_null(failure.local_rank.value)},
                      {"pid", pid_document(failure.pid)},
                      {"exit_code", code_document(failure.status)},
                      {"signal", signal_document(failure.status)},
                      {"was_passed_on", failure.was_passed_on},
                      {"asked_to_end", failure.was_asked},
                      {"core_dumped", failure.status && failure.status->dumped_core()},
                      {"run_time_s", rounded(failure.run_time_seconds)},
                      {"stderr_tail", json::array(failure.last_lines.begin(), failure.last_lines.end())},
                      {"hints", json::array(advice.begin(), advice.end())},
                      {"error_file", text_or_null(failure.error_message)},
                      {"start_error", text_or_null(failure.start_error)},
                      {"order_known", failure.knows_order}};
}

json::array list_of(const auto& items, const auto& document_of) {
  json::array list;
  for (const auto& item : items) {
    list.push_back(document_of(item));
  }
  return list;
}

/// Null for a job of one node, which has no rendezvous.
json::value gang_document(const Outcome& outcome) {
  if (outcome.nodes == 1) {
    return nullptr;
  }
  const GangRecord& gang = outcome.end.gang;
  const auto describe_arrival = [](const Arrival& arrival) {
    return json::object{{"node", arrival.node.value}, {"host", arrival.host}, {"after_s", rounded(arrival.seconds)}};
  };
  const auto describe_outlier = [](const Outlier& outlier) {
    return json::object{{"node", outlier.node.value}, {"host", outlier.host}, {"differs", outlier.facts}};
  };
  return json::object{{"nodes", gang.nodes},
                      {"arrival_skew_s", rounded(gang.arrival_skew_seconds)},
                      {"slowest", list_of(gang.slowest, describe_arrival)},
                      {"outliers", list_of(gang.outliers, describe_outlier)}};
}

json::object suspect_document(const Suspect& suspect) {
  return json::object{{"node", suspect.node.value},
                      {"host", suspect.host},
                      {"failures", suspect.failures},
                      {"reasons", json::array(suspect.reasons.begin(), suspect.reasons.end())},
                      {"left_out", suspect.is_left_out}};
}

json::object past_attempt_document(const PastAttempt& past) {
  return json::object{{"attempt", past.attempt},
                      {"reason", past.reason},
                      {"stderr_tail", json::array(past.last_lines.begin(), past.last_lines.end())},
                      {"also_failed", json::array(past.also_failed.begin(), past.also_failed.end())}};
}

/// Adds by how much the nodes came at different times, if that is worth reporting.
void add_arrival_skew(std::vector<ReportLine>& lines, const Outcome& outcome) {
  constexpr double kWorthSaying = 10;
  const GangRecord& gang = outcome.end.gang;
  if (gang.arrival_skew_seconds < kWorthSaying || gang.slowest.empty()) {
    return;
  }
  std::string late;
  for (const Arrival& arrival : gang.slowest) {
    late += (late.empty() ? "" : ", ") + describe_node(arrival.node, arrival.host) + " after " +
            format_seconds(arrival.seconds) + " s";
  }
  lines.push_back({Level::Info,
                   "the nodes came " + format_seconds(gang.arrival_skew_seconds) + " s apart, the last ones: " + late});
}

std::string describe_success(const Outcome& outcome) {
  const std::string here = ProcessNames::of(outcome.workers).count(noun_of(outcome.workers));
  const std::string time = " in " + format_seconds(outcome.run_time_seconds) + " s";
  if (outcome.nodes == 1) {
    return here + " succeeded" + time;
  }
  const std::string nodes = count_of(static_cast<std::size_t>(outcome.end.gang.nodes), "node");
  const bool was_spare =
      !outcome.workers.empty() && names_with(outcome, WorkerOutcome::NeverStarted).size() == outcome.workers.size();
  return was_spare ? "the job succeeded on " + nodes + ", and this one was not needed"
                   : here + " here and the others of " + nodes + " succeeded" + time;
}

void add_what_came_before(std::vector<ReportLine>& lines, const Outcome& outcome) {
  for (const std::string& notice : outcome.notices) {
    lines.push_back({Level::Warning, notice});
  }
  add_arrival_skew(lines, outcome);
  for (const PastAttempt& past : outcome.end.gang.past_attempts) {
    if (past.is_loss && outcome.reported_attempts.contains(past.attempt)) {
      continue;  // each loss is reported once
    }
    lines.push_back({Level::Warning, "attempt " + std::to_string(past.attempt) + " ended: " + past.reason});
    if (!past.last_lines.empty()) {
      lines.push_back({Level::Warning, "  | " + past.last_lines.back()});
    }
    for (const std::string& other : past.also_failed) {
      lines.push_back({Level::Warning, "also failed in attempt " + std::to_string(past.attempt) + ": " + other});
    }
  }
}

/// Adds at which place a stopped job was seen to hang, perhaps long before its end.
void add_hang(std::vector<ReportLine>& lines, const Outcome& outcome) {
  const auto seen = outcome.end.verdict == Verdict::Stopped ? parse_object(outcome.hang) : std::nullopt;
  const json::array* const sentences = seen ? array_of(*seen, "verdict") : nullptr;
  if (sentences != nullptr && !sentences->empty() && sentences->front().is_string()) {
    lines.push_back(
        {Level::Warning, "the job hung before it was stopped: " + std::string(text_of(&sentences->front()))});
  }
}

/// "kept of rank 3: /tmp/comm_lib_trace_rank_3 (flight recorder)".
void add_evidence(std::vector<ReportLine>& lines, const std::vector<KeptEvidence>& evidence) {
  constexpr std::size_t kShown = 8;
  for (const KeptEvidence& one : std::span(evidence).first(std::min(evidence.size(), kShown))) {
    const std::string rank = " of rank " + to_string(one.global_rank) + ": ";
    const std::string remark = one.remark.empty() ? "" : ", " + one.remark;
    std::string text = one.path.empty() ? "not kept" : "kept";
    text.append(rank).append(one.path.empty() ? one.kind : one.path + " (" + one.kind).append(remark);
    lines.push_back({Level::Warning, text.append(one.path.empty() ? "" : ")")});
  }
  if (evidence.size() > kShown) {
    lines.push_back({Level::Warning, "kept: " + std::to_string(evidence.size() - kShown) + " more files"});
  }
}

json::object evidence_document(const KeptEvidence& one) {
  return json::object{{"global_rank", one.global_rank.value},
                      {"attempt", one.attempt},
                      {"kind", one.kind},
                      {"path", text_or_null(one.path)},
                      {"remark", text_or_null(one.remark)}};
}

/// False when the end has nothing to tell beyond the first failure.
bool says_more_than_a_failure(const JobEnd& end) {
  const bool is_a_failure = end.verdict == Verdict::Failed || end.verdict == Verdict::Hung;
  return !end.first_failure || !is_a_failure || end.kind == EndKind::NoProgress || end.first_failure->is_early_exit;
}

json::object worker_document(const WorkerResult& worker) {
  return json::object{{"role", worker.role},
                      {"global_rank", worker.global_rank.value},
                      {"local_rank", worker.local_rank.value},
                      {"outcome", name_of(worker.outcome)},
                      {"pid", pid_document(worker.pid)},
                      {"exit_code", code_document(worker.status)},
                      {"signal", signal_document(worker.status)},
                      {"run_time_s", rounded(worker.run_time_seconds)}};
}

}  // namespace

std::vector<ReportLine> describe_outcome(const Outcome& outcome) {
  std::vector<ReportLine> lines;
  add_what_came_before(lines, outcome);
  const JobEnd& end = outcome.end;
  if (end.verdict == Verdict::Succeeded) {
    lines.push_back({Level::Info, describe_success(outcome)});
    return lines;
  }
  const bool is_suspended = end.verdict == Verdict::Suspended;
  if (says_more_than_a_failure(end) && end.kind != EndKind::Unfit) {  // of which the last line has the reason
    const Level level = is_suspended ? Level::Info : end.verdict == Verdict::Stopped ? Level::Warning : Level::Error;
    lines.push_back({level, end.reason});
  }
  add_hang(lines, outcome);
  if (end.first_failure) {
    add_failure(lines, end);
  }
  for (const std::string& hint : hints(outcome)) {
    lines.push_back({Level::Error, "hint: " + hint});
  }
  add_other_failures(lines, end);
  add_evidence(lines, outcome.evidence);
  if (is_suspended) {
    add_erred_after_notice(lines, outcome);
  }
  add_ranks(lines, outcome, WorkerOutcome::Stopped, "stopped by muster");
  add_ranks(lines, outcome, WorkerOutcome::Succeeded, "succeeded");
  if (outcome.has_place) {
    add_ranks(lines, outcome, WorkerOutcome::NeverStarted, "never started");
  }
  add_ranks(lines, outcome, WorkerOutcome::Running, "could not be killed");
  const bool may_signal = end.kind == EndKind::Unsaved && !outcome.signals_workers;
  lines.push_back(
      {is_suspended ? Level::Info : Level::Error,
       describe_exit(end) +
           (may_signal ? "; if the program saves at SIGTERM, start the job with --tell-workers-by TERM" : "")});
  return lines;
}

json::value to_document(const Outcome& outcome) {
  const std::chrono::duration<double> run_time(outcome.run_time_seconds);
  const WallTime started_at = outcome.ended_at - std::chrono::duration_cast<WallTime::duration>(run_time);
  const auto& first = outcome.end.first_failure;
  const auto describe_other = [](const Failure& other) { return failure_document(other, other.hints); };
  json::value document =
      json::object{{"verdict", json::string(verdict_name(outcome.end.verdict))},
                   {"exit_code", outcome.end.exit_code},
                   {"advice", json::string(advice_for(outcome.end))},
                   {"attempt", outcome.end.attempt},
                   {"reason", outcome.end.reason},
                   {"node", outcome.node_rank.value},
                   {"host", outcome.host_name},
                   {"started_at", utc_text_with_milliseconds(started_at)},
                   {"ended_at", utc_text_with_milliseconds(outcome.ended_at)},
                   {"run_time_s", rounded(outcome.run_time_seconds)},
                   {"init_s", outcome.init_seconds ? json::value(rounded(*outcome.init_seconds)) : json::value()},
                   {"first_failure", first ? json::value(failure_document(*first, hints(outcome))) : json::value()},
                   {"also_failed", list_of(outcome.end.also_failed.listed, describe_other)},
                   {"also_failed_count", outcome.end.also_failed.count},
                   {"gang", gang_document(outcome)},
                   {"suspects", list_of(outcome.end.gang.suspects, suspect_document)},
                   {"past_attempts", list_of(outcome.end.gang.past_attempts, past_attempt_document)},
                   {"workers", list_of(outcome.workers, worker_document)},
                   {"evidence", list_of(outcome.evidence, evidence_document)},
                   {"hang", outcome.hang.empty() ? json::value() : json::parse(outcome.hang)},
                   {"remarks", json::array(outcome.notices.begin(), outcome.notices.end())}};
  make_valid_utf8(document);
  return document;
}

namespace {

/// True if what the worker wrote last may come from PyTorch or one of its collective libraries: it names one, or is nothing.
bool may_be_of_pytorch(const Failure& failure) {
  static constexpr auto kWords =
      std::to_array<std::string_view>({"torch", "c10", "gloo", "nccl", "hccl", "tcpstore", "diststore", "distnetwork"});
  const std::string words = lower_case(join(failure.last_lines, "\n") + failure.error_message);
  return words.empty() ||
         std::ranges::any_of(kWords, [&](std::string_view word) { return words.find(word) != std::string::npos; });
}

}  // namespace

std::vector<std::string> hints(const Outcome& outcome) {
  std::vector<std::string> advice;
  if (!outcome.end.first_failure) {
    return advice;
  }
  advice = outcome.end.first_failure->hints;
  if (outcome.end.rank_zero_had_ended && outcome.rank_zero_hosts_store &&
      may_be_of_pytorch(*outcome.end.first_failure)) {
    advice.emplace_back(
        "rank 0 had ended with exit code 0 before: with PyTorch it hosts the store at MASTER_PORT, which the "
        "others lose with it; let rank 0 wait for them, such as in a barrier, or let the leader "
        "serve it: --store agent");
  } else if (const auto& leaver = outcome.end.left_early) {
    advice.push_back("rank " + to_string(leaver->global_rank) + ", " + describe_node(leaver->node, leaver->host) +
                     ", had ended with exit code 0 after " + format_seconds(leaver->run_time_seconds) +
                     " s, of its own accord: the others then find its connections closed");
  }
  return advice;
}

// The history: a small JSON file in the state folder of a job, which node 0 writes at the end of each run.

namespace {

constexpr const char* kFile = "muster.json";
constexpr std::size_t kMostBytes = 4'096;
// First character of the helper process's answer: an error text follows, or the content of the file.
constexpr const char* kRefused = "!";
constexpr const char* kRead = "=";
constexpr std::chrono::seconds kFolderTimeout{5};

std::string path_in(const std::string& folder) {
  return folder + "/" + kFile;
}

}  // namespace

std::string state_folder_of(const std::string& state_dir, const std::string& job_id) {
  std::string name = job_id.empty() || job_id == kNoJobId ? "job" : job_id;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_letter_or_digit(c) && c != '.' && c != '_' && c != '-'; }, '_');
  std::error_code failed;  // a relative path stays relative when there is no working directory
  const std::filesystem::path whole = std::filesystem::absolute(state_dir, failed);
  return (failed ? state_dir : whole.string()) + "/" + (name.starts_with('.') ? "_" + name : name);
}

std::optional<RunHistory> parse_history(const std::string& text) {
  const auto document = parse_object(text);
  const json::value* const runs = document ? document->if_contains("runs") : nullptr;
  const std::int64_t* const count = runs != nullptr ? runs->if_int64() : nullptr;
  const std::string verdict(document ? text_of(*document, "verdict") : "");
  const bool is_one =
      count != nullptr && *count >= 0 && *count < std::numeric_limits<int>::max() && find_verdict(verdict);
  return is_one ? std::optional(RunHistory{static_cast<int>(*count), verdict}) : std::nullopt;
}

Result<RunHistory> open_history(const std::string& folder) {
  const auto work = [&] {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    return error ? kRefused + error.message() : kRead + read_untrusted_file(path_in(folder), kMostBytes);
  };
  const auto text = HelperTask::wait_for({work, kFolderTimeout});
  const std::string refusal = !text                         ? "its file system does not answer"
                              : text->starts_with(kRefused) ? text->substr(1)
                                                            : "";
  if (!refusal.empty()) {
    return Error{ErrorKind::System, "cannot make the state folder '" + folder + "': " + refusal};
  }
  return parse_history(text->substr(1)).value_or(RunHistory{});
}

Result<> write_history(const std::string& folder, const RunHistory& before, const JobEnd& end) {
  const json::value document = json::object{{"runs", before.runs + 1},
                                            {"verdict", json::string(verdict_name(end.verdict))},
                                            {"exit_code", end.exit_code},
                                            {"reason", valid_utf8(end.reason)}};
  return write_whole_file(path_in(folder), pretty_json(document));
}

}  // namespace muster
