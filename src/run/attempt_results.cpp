// Joins the plan with what happened to it.
#include "attempt_results.hpp"

#include "run_folder.hpp"

#include <muster/logs/error_file.hpp>

#include <sys/stat.h>
#include <unistd.h>

namespace muster {
namespace {

constexpr std::size_t kErrorFileBytes = std::size_t{1} << 20U;

WorkerResult planned_result(const WorkerPlan& planned) {
  WorkerResult result;
  result.role = planned.role;
  result.label = planned.label;
  result.is_unranked = planned.is_unranked;
  result.global_rank = planned.global_rank;
  result.local_rank = planned.local_rank;
  return result;
}

void describe_worker(Failure& failure, const AttemptView& attempt, std::size_t worker) {
  const WorkerPlan& planned = attempt.plan.workers[worker];
  const auto& unstarted = attempt.start_failure;
  failure.role = planned.role;
  failure.label = planned.label;
  failure.is_unranked = planned.is_unranked;
  failure.global_rank = planned.global_rank;
  failure.local_rank = planned.local_rank;
  failure.pid = attempt.workers.pid(worker);
  failure.status = attempt.supervisor.status(worker);
  failure.run_time_seconds = attempt.workers.run_time_seconds(worker);
  const auto fault = attempt.faults.find(worker);
  failure.start_error = fault != attempt.faults.end()              ? fault->second
                        : unstarted && unstarted->worker == worker ? unstarted->error.message
                                                                   : "";
  failure.error_message = read_error_file(read_untrusted_file(planned.error_file, kErrorFileBytes));
  failure.last_lines = attempt.streams.last_lines(worker);
  failure.knows_order = attempt.workers.knows_order();
}

}  // namespace

std::vector<WorkerResult> results_without_start(const LaunchPlan& plan) {
  std::vector<WorkerResult> results;
  for (const WorkerPlan& planned : plan.workers) {
    results.push_back(planned_result(planned));
  }
  return results;
}

std::vector<WorkerResult> results_of(const AttemptView& attempt) {
  std::vector<WorkerResult> results = results_without_start(attempt.plan);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].outcome = attempt.supervisor.outcome(i);
    results[i].pid = attempt.workers.pid(i);
    results[i].status = attempt.supervisor.status(i);
    results[i].run_time_seconds = attempt.workers.run_time_seconds(i);
  }
  return results;
}

std::optional<Failure> failure_of(const AttemptView& attempt, const std::string& host_name) {
  const Conclusion conclusion = attempt.supervisor.conclusion();
  if (conclusion.verdict != Verdict::Failed) {
    return std::nullopt;
  }
  Failure failure;
  failure.node = attempt.plan.node_rank;
  failure.host = host_name;
  failure.exit_code = conclusion.exit_code;
  if (conclusion.first_failure) {
    describe_worker(failure, attempt, *conclusion.first_failure);
  } else {
    failure.service = attempt.service_failure->service;
    failure.start_error = attempt.service_failure->error.message;
  }
  return failure;
}

void remove_old_error_files(const LaunchPlan& plan) {
  for (const WorkerPlan& worker : plan.workers) {
    struct stat status {
    };  // usually there is none; what is no file is never read, and is left alone
    if (!worker.error_file.empty() && ::lstat(worker.error_file.c_str(), &status) == 0 &&
        S_ISREG(status.st_mode)) {
      (void)::unlink(worker.error_file.c_str());
    }
  }
}

}  // namespace muster
