// Joins the plan with what happened to it.
#include "agent/attempt_results.hpp"

#include "base/text.hpp"
#include "environment/oom_counter.hpp"
#include "supervise/end_hints.hpp"
#include "supervise/first_failure.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace muster {
namespace {

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
  failure.error_message = attempt.error_files.message(worker);
  failure.last_lines = attempt.streams.last_lines(worker);
  failure.was_passed_on = failure.status && attempt.workers.has_passed_on(*failure.status);
}

std::optional<OomKills> oom_kills_now(OomKills kills) {
  const auto now = read_oom_counter(kills.file);
  kills.after = now.value_or(0);
  return now ? std::optional(kills) : std::nullopt;
}

/// What only this node can know of how it ended.
std::vector<std::string> hints_for(const Failure& failure,
                                   const AttemptView& attempt,
                                   std::size_t worker) {
  if (!failure.status) {
    return {};
  }
  EndFacts facts;
  facts.status = *failure.status;
  facts.last_words = join(failure.last_lines, "\n") + failure.error_message;
  facts.use = attempt.workers.use(worker);
  if (failure.status->signal() == SIGKILL) {
    facts.oom_kills = oom_kills_now(attempt.oom_kills);
  }
  return end_hints(facts);
}

Failure failure_here(const AttemptView& attempt, const std::string& host_name) {
  Failure failure;
  failure.node = attempt.plan.node_rank;
  failure.host = host_name;
  return failure;
}

Failure worker_failure(const AttemptView& attempt,
                       const std::string& host_name,
                       std::size_t worker) {
  Failure failure = failure_here(attempt, host_name);
  describe_worker(failure, attempt, worker);
  failure.hints = hints_for(failure, attempt, worker);
  failure.exit_code = failure.status ? std::max(failure.status->shell_code(), 1) : 0;
  return failure;
}

Failure service_failure(const AttemptView& attempt, const std::string& host_name) {
  Failure failure = failure_here(attempt, host_name);
  failure.service = attempt.service_failure->service;
  failure.start_error = attempt.service_failure->error.message;
  failure.exit_code = attempt.supervisor.conclusion().exit_code;
  return failure;
}

/// Both by one signal that muster passed on to all.
bool are_of_one_signal(const AttemptView& attempt, std::size_t one, std::size_t other) {
  const auto status = attempt.supervisor.status(one);
  const auto other_status = attempt.supervisor.status(other);
  return status && other_status && status->signal() == other_status->signal() &&
         attempt.workers.has_passed_on(*status);
}

/// Too close to the first one for their order to be known.
bool is_close(const AttemptView& attempt, const FailedWorker& failed) {
  const std::size_t first = attempt.supervisor.failed().front().worker;
  return failed.exited_before_stop || are_of_one_signal(attempt, first, failed.worker) ||
         attempt.workers.ended(failed.worker) - attempt.workers.ended(first) < kOrderWindow;
}

/// The likeliest reason of all others.
Failure take_first(std::vector<Failure>& suspects) {
  for (Failure& suspect : suspects) {
    suspect.knows_order = suspects.size() == 1;
  }
  const auto first = suspects.begin() + static_cast<std::ptrdiff_t>(most_likely_first(suspects));
  Failure taken = std::move(*first);
  suspects.erase(first);
  return taken;
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

namespace {

std::string describe_state(const AttemptView& attempt, std::size_t worker) {
  if (const auto status = attempt.supervisor.status(worker)) {
    return status->describe();
  }
  if (!attempt.workers.is_alive(worker)) {
    return attempt.start_failure ? "not started" : "starting";
  }
  return attempt.supervisor.is_running_normally() ? "running" : "stopping";
}

double seconds_since(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - moment).count();
}

double since_1970(std::chrono::steady_clock::time_point moment) {
  const auto ago = std::chrono::steady_clock::now() - moment;
  const auto at = std::chrono::system_clock::now().time_since_epoch() - ago;
  return std::chrono::duration<double>(at).count();
}

}  // namespace

std::vector<control::WorkerStatus> status_of(const AttemptView& attempt) {
  std::vector<control::WorkerStatus> all;
  for (std::size_t i = 0; i < attempt.plan.workers.size(); ++i) {
    const WorkerPlan& planned = attempt.plan.workers[i];
    control::WorkerStatus status;
    status.role = planned.role;
    status.global_rank = planned.global_rank.value;
    status.local_rank = planned.local_rank.value;
    status.state = describe_state(attempt, i);
    status.pid = attempt.workers.pid(i);
    if (status.pid > 0) {
      const bool is_alive = attempt.workers.is_alive(i);
      status.since = since_1970(is_alive ? attempt.workers.started(i) : attempt.workers.ended(i));
      const auto written = attempt.streams.last_output(i);
      status.output_age = written ? std::optional(seconds_since(*written)) : std::nullopt;
    }
    all.push_back(std::move(status));
  }
  return all;
}

NodeFailures failures_of(const AttemptView& attempt, const std::string& host_name) {
  const AttemptOutcome conclusion = attempt.supervisor.conclusion();
  NodeFailures failures;
  if (conclusion.verdict == Verdict::Failed && !conclusion.first_failure) {
    failures.first = service_failure(attempt, host_name);
  } else if (conclusion.first_failure && !attempt.supervisor.status(*conclusion.first_failure)) {
    failures.first = worker_failure(attempt, host_name, *conclusion.first_failure);
    failures.first->exit_code = conclusion.exit_code;
  }
  std::vector<Failure> suspects;
  std::vector<Failure> later;
  for (const FailedWorker& failed : attempt.supervisor.failed()) {
    const bool is_suspect =
        conclusion.first_failure && !failures.first && is_close(attempt, failed);
    (is_suspect ? suspects : later).push_back(worker_failure(attempt, host_name, failed.worker));
  }
  if (!suspects.empty()) {
    failures.first = take_first(suspects);
  }
  for (std::vector<Failure>* const list : {&suspects, &later}) {
    for (Failure& other : *list) {
      failures.others.add(std::move(other));
    }
  }
  return failures;
}

}  // namespace muster
