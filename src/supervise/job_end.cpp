// Defines the table of ends, and makes each end. docs/interfaces.md shows the table to users, and a test compares the
// two.
#include "supervise/job_end.hpp"

#include "base/result.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr int kLost = 69;
constexpr int kIncomplete = 75;
constexpr int kSuspended = 85;
constexpr int kHung = 86;
constexpr int kNoProgress = 93;
constexpr int kSystem = static_cast<int>(ErrorKind::System);
constexpr int kBadData = static_cast<int>(ErrorKind::BadData);
constexpr int kRefused = static_cast<int>(ErrorKind::BadEnvironment);
constexpr int kNotExecutable = static_cast<int>(ErrorKind::NotExecutable);
constexpr int kNotFound = static_cast<int>(ErrorKind::NotFound);

// Kind, verdict and its name, exit code, advice for a scheduler and for people. In the order of EndKind.
constexpr std::array<EndRow, 15> kEnds{{
    {EndKind::Succeeded, Verdict::Succeeded, "succeeded", 0, "be happy", ""},
    {EndKind::WorkerFailed, Verdict::Failed, "failed", std::nullopt, "apply its policy", ""},
    {EndKind::NoProgress, Verdict::Failed, "failed", kNoProgress, "stop",
     "several attempts made no progress; another start would end in the same way"},
    {EndKind::SystemRefused, Verdict::Failed, "failed", kSystem, "report",
     "the system refused a call; raise the limit, give another port or mend the machine that the line above names"},
    {EndKind::NodeRefused, Verdict::Failed, "failed", kRefused, "not retry",
     "this node does not belong to the job, or its environment is wrong; correct it first"},
    {EndKind::BadInput, Verdict::Failed, "failed", kBadData, "not retry",
     "a file that the job needs is wrong; correct it first"},
    {EndKind::Stopped, Verdict::Stopped, "stopped", std::nullopt, "apply its policy",
     "the job was asked to end from outside"},
    {EndKind::Incomplete, Verdict::Incomplete, "incomplete", kIncomplete, "requeue",
     "the nodes never met, and no worker ran; mend what the line above names, and start the job again"},
    {EndKind::Lost, Verdict::Lost, "lost", kLost, "retry elsewhere", "a node was lost; start the job again elsewhere"},
    {EndKind::Hung, Verdict::Hung, "hung", kHung, "retry", "ranks hung; start the job again, from its last checkpoint"},
    {EndKind::NotExecutable, Verdict::Failed, "failed", kNotExecutable, "not retry",
     "the program cannot be executed; correct its name or its permissions"},
    {EndKind::NotFound, Verdict::Failed, "failed", kNotFound, "not retry",
     "the program was not found; correct its name or the image"},
    {EndKind::Suspended, Verdict::Suspended, "suspended", kSuspended, "requeue",
     "suspended after a notice; start the job again to go on from its last checkpoint"},
    {EndKind::Unsaved, Verdict::Suspended, "suspended", kSuspended, "requeue",
     "suspended, but no worker ended with exit code 0 or said that it had saved: the next start may go on from an "
     "older checkpoint; let the program ask for the notice, or give it longer (--suspend-timeout)"},
    {EndKind::Unfit, Verdict::Lost, "lost", kLost, "retry elsewhere", ""},
}};

/// Kinds of end when something could not be started.
constexpr std::array kNotStarted{EndKind::SystemRefused, EndKind::NodeRefused, EndKind::BadInput,
                                 EndKind::NotExecutable, EndKind::NotFound};

const EndRow& row_of(EndKind kind) {
  return kEnds.at(static_cast<std::size_t>(kind));
}

const EndRow& first_row_of(Verdict verdict) {
  return *std::find_if(kEnds.begin(), kEnds.end(), [&](const EndRow& known) { return known.verdict == verdict; });
}

/// The kind of end by a failure. A worker that never ran failed because of muster, with one of muster's exit codes; a
/// worker that ran has its own code.
EndKind kind_of(const Failure& failure) {
  if (failure.is_hung) {
    return EndKind::Hung;
  }
  if (failure.status || failure.start_error.empty()) {
    return EndKind::WorkerFailed;
  }
  const auto* const kind = std::find_if(kNotStarted.begin(), kNotStarted.end(),
                                        [&](EndKind known) { return row_of(known).exit_code == failure.exit_code; });
  return kind == kNotStarted.end() ? EndKind::WorkerFailed : *kind;
}

/// A few words for schedulers.
const char* reason_of(const Failure& failure) {
  if (!failure.service.empty()) {
    return "service failed";
  }
  if (failure.is_hung) {
    return "hang";
  }
  return failure.status || failure.start_error.empty() ? "worker failed" : "worker not started";
}

}  // namespace

std::string why_incurable(const Failure& failure) {
  if (failure.is_unkillable) {
    return name_of_failed(failure) + " is in an uninterruptible system call and may still hold its device";
  }
  const bool is_missing = failure.exit_code == kNotExecutable || failure.exit_code == kNotFound;
  return is_missing ? "exit code " + std::to_string(failure.exit_code) +
                          " says that a program is not found or cannot be executed, as it would be again"
                    : "";
}

std::string name_of_failed(const Failure& failure) {
  return failure.service.empty() ? describe_process(failure) : "service '" + failure.service + "'";
}

std::string describe_status(const Failure& failure) {
  return (failure.status ? failure.status->describe() : "") + (failure.was_passed_on ? ", which muster passed on" : "");
}

std::string describe_failure(const Failure& failure) {
  const std::string who = name_of_failed(failure) + " on " + describe_node(failure.node, failure.host);
  if (!failure.service.empty()) {
    return who + " failed";
  }
  if (failure.is_hung) {
    return who + " hung: " + failure.start_error;
  }
  const std::string what = failure.knows_order ? " failed (" : " probably failed first (";
  return failure.status ? who + what + describe_status(failure) + ")" : who + " could not be started";
}

/// Keeps only a short part of its last lines: those of the first failure are reported in full.
void OtherFailures::add(Failure failure) {
  const std::size_t most_lines = failure.was_asked ? 10 : 3;  // of a traceback, or of what is most likely a consequence
  ++count;
  if (listed.size() >= kMostListed) {  // one that may be the reason is worth more than a consequence
    const auto other =
        std::find_if(listed.rbegin(), listed.rend(), [](const Failure& known) { return !known.was_asked; });
    if (!failure.was_asked || other == listed.rend()) {
      return;
    }
    listed.erase(std::next(other).base());
  }
  auto& lines = failure.last_lines;
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(std::min(lines.size(), most_lines)));
  for (std::string& line : lines) {
    line = shortened(line, kLineBytes);
  }
  listed.push_back(std::move(failure));
}

void OtherFailures::add(OtherFailures others) {
  const int unlisted = others.count - static_cast<int>(others.listed.size());
  for (Failure& failure : others.listed) {
    add(std::move(failure));
  }
  count += unlisted;
}

void OtherFailures::drop_asked() {
  count -= static_cast<int>(std::erase_if(listed, [](const Failure& failure) { return failure.was_asked; }));
}

std::string describe_reasons(const Suspect& suspect) {
  return "it has failed by itself " + join(suspect.reasons, " and ");
}

std::span<const EndRow> end_table() {
  return kEnds;
}

std::string_view verdict_name(Verdict verdict) {
  return first_row_of(verdict).name;
}

std::optional<Verdict> find_verdict(std::string_view name) {
  const auto* const row =
      std::find_if(kEnds.begin(), kEnds.end(), [&](const EndRow& known) { return known.name == name; });
  return row == kEnds.end() ? std::nullopt : std::optional(row->verdict);
}

int exit_code_of(EndKind kind) {
  return row_of(kind).exit_code.value_or(1);
}

JobEnd make_end(EndKind kind, std::string reason) {
  JobEnd end;
  end.kind = kind;
  end.verdict = row_of(kind).verdict;
  end.exit_code = exit_code_of(kind);
  end.reason = std::move(reason);
  return end;
}

JobEnd end_by_signal(int signal) {
  JobEnd end = make_end(EndKind::Stopped, "stopped by " + signal_name(signal));
  end.exit_code = ExitStatus::signalled(signal).shell_code();
  end.stop_signal = signal;
  return end;
}

JobEnd end_by_failure(const Failure& failure) {
  JobEnd end = make_end(kind_of(failure), reason_of(failure));
  end.exit_code = failure.exit_code == 0 ? end.exit_code : failure.exit_code;
  end.first_failure = failure;
  return end;
}

/// From the wire, the kind may be missing or not fit the verdict.
std::string_view advice_for(const JobEnd& end) {
  const EndRow& row = row_of(end.kind);
  return row.verdict == end.verdict ? row.advice : first_row_of(end.verdict).advice;
}

std::string describe_exit(const JobEnd& end) {
  std::string code = "exit code " + std::to_string(end.exit_code);
  const EndRow& row = row_of(end.kind).verdict == end.verdict ? row_of(end.kind) : first_row_of(end.verdict);
  if (!row.instruction.empty()) {
    return code + ": " + std::string(row.instruction);
  }
  if (row.kind == EndKind::Unfit) {
    return code + ": " + end.reason + "; start the job again without unfit nodes";
  }
  if (!end.first_failure || end.first_failure->is_early_exit) {
    return code;
  }
  const Failure& first = *end.first_failure;
  const std::string place = end.gang.nodes == 1 ? "" : " on " + describe_node(first.node, first.host);
  const std::string first_failure = first.knows_order ? "the first failure" : "probably the first failure";
  return code + ": " + (first.was_asked ? "" : "that of ") + name_of_failed(first) + place +
         (first.was_asked ? " is " : ", ") + first_failure;
}

}  // namespace muster
