#pragma once

// Possible outcomes of a job of four workers, and calls that make one in a line.

#include "report/report.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace muster {

inline constexpr std::size_t kWorkers = 4;

inline WorkerResult worker_with(int rank, WorkerOutcome outcome, ExitStatus status) {
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
inline Outcome success() {
  Outcome outcome;
  outcome.node_rank = NodeRank{1};
  outcome.has_place = true;
  outcome.host_name = "gpu-17";
  outcome.run_time_seconds = 1.3;
  outcome.end.reason = "all workers succeeded";
  for (int rank = 0; rank < static_cast<int>(kWorkers); ++rank) {
    outcome.workers.push_back(worker_with(rank, WorkerOutcome::Succeeded, ExitStatus::exited(0)));
  }
  return outcome;
}

/// Worker 2 failed with `status`, and the others were stopped.
inline Outcome failure(ExitStatus status) {
  Outcome outcome = success();
  for (WorkerResult& worker : outcome.workers) {
    worker = worker_with(worker.local_rank.value, WorkerOutcome::Stopped, ExitStatus::signalled(SIGTERM));
  }
  outcome.workers[2] = worker_with(2, WorkerOutcome::Failed, status);
  Failure first;
  first.node = NodeRank{1};
  first.host = "gpu-17";
  first.role = "worker";
  first.global_rank = GlobalRank{10};
  first.local_rank = LocalRank{2};
  first.pid = 4'702;
  first.status = status;
  first.exit_code = status.shell_code();
  first.run_time_seconds = 1.254;
  outcome.end.verdict = Verdict::Failed;
  outcome.end.exit_code = status.shell_code();
  outcome.end.reason = "worker failed";
  outcome.end.first_failure = first;
  return outcome;
}

/// TERM from outside ended the job.
inline Outcome stop() {
  Outcome outcome = failure(ExitStatus::exited(0));
  outcome.end.first_failure.reset();
  outcome.workers[2] = worker_with(2, WorkerOutcome::Stopped, ExitStatus::exited(0));
  outcome.end.verdict = Verdict::Stopped;
  outcome.end.exit_code = 128 + SIGTERM;
  outcome.end.reason = "stopped by SIGTERM";
  outcome.end.stop_signal = SIGTERM;
  return outcome;
}

inline std::vector<std::string> texts_of(const Outcome& outcome) {
  std::vector<std::string> texts;
  for (const ReportLine& line : describe_outcome(outcome)) {
    texts.push_back(line.text);
  }
  return texts;
}

}  // namespace muster
