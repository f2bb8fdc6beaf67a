#pragma once

// What may have become of a job of four workers, in one line each.

#include <muster/report/report.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace muster {

inline constexpr std::size_t kWorkers = 4;

[[nodiscard]] inline WorkerResult worker_with(int rank, WorkerOutcome outcome, ExitStatus status) {
  WorkerResult worker;
  worker.role = "worker";
  worker.global_rank = GlobalRank{8 + rank};
  worker.local_rank = LocalRank{rank};
  worker.outcome = outcome;
  worker.pid = 4'700 + rank;
  worker.status = status;
  worker.run_time_seconds = 1.254;
  return worker;
}

/// Four workers of node 1, all of which succeeded.
[[nodiscard]] inline Outcome success() {
  Outcome outcome;
  outcome.node_rank = NodeRank{1};
  outcome.host_name = "gpu-17";
  outcome.run_time_seconds = 1.3;
  for (int rank = 0; rank < static_cast<int>(kWorkers); ++rank) {
    outcome.workers.push_back(worker_with(rank, WorkerOutcome::Succeeded, ExitStatus::exited(0)));
  }
  return outcome;
}

/// Worker 2 failed with `status`, and the others were stopped.
[[nodiscard]] inline Outcome failure(ExitStatus status) {
  Outcome outcome = success();
  for (WorkerResult& worker : outcome.workers) {
    worker = worker_with(
        worker.local_rank.value, WorkerOutcome::Stopped, ExitStatus::signalled(SIGTERM));
  }
  outcome.workers[2] = worker_with(2, WorkerOutcome::Failed, status);
  outcome.first_failure = FirstFailure{2, "", {}, ""};
  outcome.conclusion.verdict = Verdict::Failed;
  outcome.conclusion.exit_code = status.shell_code();
  outcome.conclusion.first_failure = 2;
  return outcome;
}

/// TERM from outside ended the job.
[[nodiscard]] inline Outcome stop() {
  Outcome outcome = failure(ExitStatus::exited(0));
  outcome.first_failure.reset();
  outcome.workers[2] = worker_with(2, WorkerOutcome::Stopped, ExitStatus::exited(0));
  outcome.conclusion = {.verdict = Verdict::Stopped,
                        .exit_code = 128 + SIGTERM,
                        .first_failure = {},
                        .stop_signal = SIGTERM,
                        .gave_up = false};
  return outcome;
}

[[nodiscard]] inline std::vector<std::string> texts_of(const Outcome& outcome) {
  std::vector<std::string> texts;
  for (const ReportLine& line : describe_outcome(outcome)) {
    texts.push_back(line.text);
  }
  return texts;
}

}  // namespace muster
