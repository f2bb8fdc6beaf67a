// What happened, in sentences and as a document. Pure but for write_report.
#include <muster/base/text.hpp>
#include <muster/base/unique_fd.hpp>
#include <muster/report/report.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>

namespace muster {
namespace {

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Succeeded:
      return "succeeded";
    case Verdict::Failed:
      return "failed";
    case Verdict::Stopped:
      return "stopped";
    case Verdict::Incomplete:
      return "incomplete";
    case Verdict::Lost:
      return "lost";
    case Verdict::Hung:
      return "hung";
  }
  return "";
}

const char* name_of(WorkerOutcome outcome) {
  switch (outcome) {
    case WorkerOutcome::NeverStarted:
      return "never started";
    case WorkerOutcome::Running:
      return "running";  // only of a process that could not be killed
    case WorkerOutcome::Succeeded:
      return "succeeded";
    case WorkerOutcome::Failed:
      return "failed";
    case WorkerOutcome::Stopped:
      return "stopped";
  }
  return "";
}

std::vector<int> ranks_with(const Outcome& outcome, WorkerOutcome wanted) {
  std::vector<int> ranks;
  for (const WorkerResult& worker : outcome.workers) {
    if (worker.outcome == wanted) {
      ranks.push_back(worker.global_rank.value);
    }
  }
  return ranks;
}

std::string rank_list(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + describe_ranges(ranks);
}

std::string describe_first_failure(const Outcome& outcome, const WorkerResult& worker) {
  const std::string place = "node " + to_string(outcome.node_rank) + " (" + outcome.host_name + ")";
  if (!outcome.first_failure->start_error.empty()) {
    return "rank " + to_string(worker.global_rank) + " could not be started: " + place + ", " +
           outcome.first_failure->start_error;
  }
  return "rank " + to_string(worker.global_rank) + " failed first: " + place + ", local rank " +
         to_string(worker.local_rank) + ", pid " + std::to_string(worker.pid) + ", " +
         worker.status->describe() + ", after " + format_seconds(worker.run_time_seconds) +
         " s, attempt " + std::to_string(outcome.attempt);
}

void add_failure(std::vector<ReportLine>& lines, const Outcome& outcome) {
  const FirstFailure& failure = *outcome.first_failure;
  const auto error = [&](std::string text) { lines.push_back({Level::Error, std::move(text)}); };
  error(describe_first_failure(outcome, outcome.workers[failure.worker]));
  if (!outcome.knows_order) {
    error(
        "there was no pidfd for each worker (an old kernel, or too few descriptors): the order of "
        "workers that ended at the same time is unknown");
  }
  if (const std::string message = read_error_file(failure.error_file); !message.empty()) {
    error("its error file says: " + message);
  }
  if (!failure.last_lines.empty()) {
    error("the last lines of its standard error:");
  }
  for (const std::string& line : failure.last_lines) {
    error("  | " + line);
  }
  for (const std::string& hint : hints(outcome)) {
    error("hint: " + hint);
  }
}

void add_ranks(std::vector<ReportLine>& lines,
               const Outcome& outcome,
               WorkerOutcome wanted,
               const std::string& what) {
  if (const auto ranks = ranks_with(outcome, wanted); !ranks.empty()) {
    lines.push_back({Level::Warning, what + ": " + rank_list(ranks)});
  }
}

/// Those that ended badly by themselves at the same moment as the first one.
void add_other_failures(std::vector<ReportLine>& lines, const Outcome& outcome) {
  std::vector<int> ranks = ranks_with(outcome, WorkerOutcome::Failed);
  if (outcome.first_failure) {
    std::erase(ranks, outcome.workers[outcome.first_failure->worker].global_rank.value);
  }
  if (!ranks.empty()) {
    lines.push_back(
        {Level::Warning, "failed as well, before they were asked to end: " + rank_list(ranks)});
  }
}

json::value signal_document(const std::optional<ExitStatus>& status) {
  return status && status->signal() ? json::value(signal_name(*status->signal()))
                                    : json::value(nullptr);
}

json::value code_document(const std::optional<ExitStatus>& status) {
  return status && status->code() ? json::value(*status->code()) : json::value(nullptr);
}

json::value pid_document(pid_t pid) {
  return pid > 0 ? json::value(pid) : json::value(nullptr);
}

/// Milliseconds are as much as anybody reads.
double rounded(double seconds) {
  return static_cast<double>(static_cast<long long>(seconds * 1000)) / 1000;
}

/// Writes the whole text; a pipe that nobody reads is given a few seconds. False sets errno.
bool write_all(int fd, std::string_view text) {
  constexpr int kPatienceMilliseconds = 2'000;
  while (!text.empty()) {
    const ssize_t taken = ::write(fd, text.data(), text.size());
    if (taken >= 0) {
      text.remove_prefix(static_cast<std::size_t>(taken));
      continue;
    }
    pollfd ready{fd, POLLOUT, 0};
    const bool may_wait = errno == EAGAIN || errno == EINTR;
    if (!may_wait || ::poll(&ready, 1, kPatienceMilliseconds) == 0) {
      return false;
    }
  }
  return true;
}

json::value first_failure_document(const Outcome& outcome) {
  if (!outcome.first_failure) {
    return nullptr;
  }
  const FirstFailure& failure = *outcome.first_failure;
  const WorkerResult& worker = outcome.workers[failure.worker];
  const auto advice = hints(outcome);
  json::object document = {
      {"node", outcome.node_rank.value},
      {"host", outcome.host_name},
      {"role", worker.role},
      {"global_rank", worker.global_rank.value},
      {"local_rank", worker.local_rank.value},
      {"pid", pid_document(worker.pid)},
      {"exit_code", code_document(worker.status)},
      {"signal", signal_document(worker.status)},
      {"core_dumped", worker.status && worker.status->dumped_core()},
      {"run_time_s", rounded(worker.run_time_seconds)},
      {"stderr_tail", json::array(failure.last_lines.begin(), failure.last_lines.end())},
      {"hints", json::array(advice.begin(), advice.end())}};
  const std::string message = read_error_file(failure.error_file);
  document["error_file"] = message.empty() ? json::value(nullptr) : json::value(message);
  document["start_error"] =
      failure.start_error.empty() ? json::value(nullptr) : json::value(failure.start_error);
  document["order_known"] = outcome.knows_order;
  return document;
}

std::string reason(const Outcome& outcome) {
  if (outcome.first_failure) {
    return outcome.first_failure->start_error.empty() ? "worker failed" : "worker not started";
  }
  if (outcome.conclusion.stop_signal) {
    return "stopped by " + signal_name(*outcome.conclusion.stop_signal);
  }
  return "all workers succeeded";
}

}  // namespace

std::vector<ReportLine> describe_outcome(const Outcome& outcome) {
  std::vector<ReportLine> lines;
  for (const std::string& remark : outcome.remarks) {
    lines.push_back({Level::Warning, remark});
  }
  const Conclusion& conclusion = outcome.conclusion;
  if (conclusion.verdict == Verdict::Succeeded) {
    lines.push_back({Level::Info,
                     count_of(outcome.workers.size(), "worker") + " succeeded in " +
                         format_seconds(outcome.run_time_seconds) + " s"});
    return lines;
  }
  if (outcome.first_failure) {
    add_failure(lines, outcome);
  } else {
    lines.push_back({Level::Warning, reason(outcome)});
  }
  add_other_failures(lines, outcome);
  add_ranks(lines, outcome, WorkerOutcome::Stopped, "stopped by muster");
  add_ranks(lines, outcome, WorkerOutcome::Succeeded, "succeeded");
  add_ranks(lines, outcome, WorkerOutcome::NeverStarted, "never started");
  add_ranks(lines, outcome, WorkerOutcome::Running, "could not be killed");
  lines.push_back({Level::Error, "exit code " + std::to_string(conclusion.exit_code)});
  return lines;
}

json::value to_document(const Outcome& outcome) {
  json::array workers;
  for (const WorkerResult& worker : outcome.workers) {
    workers.push_back(json::object{{"role", worker.role},
                                   {"global_rank", worker.global_rank.value},
                                   {"local_rank", worker.local_rank.value},
                                   {"outcome", name_of(worker.outcome)},
                                   {"pid", pid_document(worker.pid)},
                                   {"exit_code", code_document(worker.status)},
                                   {"signal", signal_document(worker.status)},
                                   {"run_time_s", rounded(worker.run_time_seconds)}});
  }
  json::value document =
      json::object{{"verdict", name_of(outcome.conclusion.verdict)},
                   {"exit_code", outcome.conclusion.exit_code},
                   {"attempt", outcome.attempt},
                   {"reason", reason(outcome)},
                   {"node", outcome.node_rank.value},
                   {"host", outcome.host_name},
                   {"run_time_s", rounded(outcome.run_time_seconds)},
                   {"first_failure", first_failure_document(outcome)},
                   {"workers", std::move(workers)},
                   {"remarks", json::array(outcome.remarks.begin(), outcome.remarks.end())}};
  make_valid_utf8(document);
  return document;
}

Result<> write_report(const Outcome& outcome, const std::string& path) {
  const std::string text = pretty_json(to_document(outcome));
  // A reader sees the old file or the new one, never half of it. What is no plain file (a pipe,
  // /dev/stdout) is written to as it is.
  std::error_code unknown;  // a path that cannot be looked at is one to be made
  const auto type = std::filesystem::status(path, unknown).type();
  const bool is_special = type != std::filesystem::file_type::regular &&
                          type != std::filesystem::file_type::not_found &&
                          type != std::filesystem::file_type::none;
  // A link stays a link: its target is what is replaced.
  std::error_code ignored;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, ignored);
  const std::string place = ignored ? path : resolved.string();
  const std::string target = is_special ? path : place + ".tmp" + std::to_string(::getpid());
  const UniqueFd file(
      ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0644));
  const bool is_written = file && write_all(file.get(), text);
  if (!is_written || (!is_special && ::rename(target.c_str(), place.c_str()) != 0)) {
    const int error_number = errno;
    if (!is_special) {
      (void)::unlink(target.c_str());
    }
    return system_error("cannot write the report '" + path + "'", error_number);
  }
  return {};
}

std::vector<std::string> hints(const Outcome& outcome) {
  std::vector<std::string> advice;
  if (!outcome.first_failure) {
    return advice;
  }
  const auto status = outcome.workers[outcome.first_failure->worker].status;
  const int signal = status ? status->signal().value_or(0) : 0;
  if (signal == SIGKILL) {
    advice.emplace_back(
        "muster did not send this SIGKILL; the kernel does when memory runs out "
        "(look for 'oom' in the kernel's log or the pod's events)");
  } else if (signal == SIGBUS) {
    advice.emplace_back("SIGBUS often means that /dev/shm is full; data loaders use it");
  }
  return advice;
}

}  // namespace muster
