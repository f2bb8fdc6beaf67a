// Combines the plan of an attempt with what happened to it.
#include "agent/attempt_results.hpp"

#include "base/text.hpp"
#include "environment/cgroups.hpp"
#include "environment/mounts.hpp"
#include "supervise/end_hints.hpp"
#include "supervise/first_failure.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <utility>

namespace muster {

/// Waits 5 s, because a scheduler exits a little before the last of its workers, when they need it no more.
Successes::Successes(boost::asio::io_context& io, const LaunchPlan& plan, const Workers& workers,
                     std::function<void()> check)
    : plan_(plan), workers_(workers), timer_(io, std::chrono::seconds(5), std::move(check)) {}

void Successes::note(const Death& death) {
  if (death.status.ok() && !plan_.workers[death.worker].decides_success) {
    ended_servers_.push_back(death.worker);
    timer_.ask();
  }
}

std::vector<std::size_t> Successes::take_early_exits() {
  std::vector<std::size_t> ended = std::exchange(ended_servers_, {});
  bool has_deciding = false;
  bool is_one_alive = false;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    const bool decides = plan_.workers[i].decides_success;
    has_deciding = has_deciding || decides;
    is_one_alive = is_one_alive || (decides && workers_.is_alive(i));
  }
  // If no worker of this node decides success, the server's workers are on other nodes.
  const bool serves_others = !has_deciding && plan_.placement.nodes > 1;
  return is_one_alive || serves_others ? ended : std::vector<std::size_t>{};
}

std::optional<gang::Succeeded> Successes::message_for(const ReportSuccess& success) {
  gang::Succeeded message;
  message.is_last = success.is_last;
  if (!success.worker) {  // no worker of this node decides success
    return message;
  }
  const WorkerPlan& planned = plan_.workers[*success.worker];
  const bool is_first = announced_roles_.insert(planned.role).second;
  if (!are_all_wanted_ && !is_first && !success.is_last && planned.global_rank.value != 0) {
    return std::nullopt;
  }
  message.world_size = plan_.world_size;
  message.global_rank = planned.global_rank;
  message.local_rank = planned.local_rank;
  message.role = planned.role;
  message.pid = workers_.pid(*success.worker);
  message.run_time_seconds = workers_.run_time_seconds(*success.worker);
  return message;
}

std::vector<WorkerResult> results_without_start(const LaunchPlan& plan) {
  std::vector<WorkerResult> results;
  for (const WorkerPlan& planned : plan.workers) {
    WorkerResult& result = results.emplace_back();
    result.role = planned.role;
    result.label = planned.label;
    result.is_unranked = planned.is_unranked;
    result.global_rank = planned.global_rank;
    result.local_rank = planned.local_rank;
  }
  return results;
}

std::vector<WorkerResult> AttemptResults::of_workers() const {
  std::vector<WorkerResult> results = results_without_start(from_.plan);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].outcome = from_.supervisor.outcome(i);
    results[i].pid = from_.workers.pid(i);
    results[i].status = from_.supervisor.status(i);
    results[i].run_time_seconds = from_.workers.run_time_seconds(i);
  }
  return results;
}

// The workers' state, for the control socket.

namespace {

double since_1970(std::chrono::steady_clock::time_point moment) {
  const auto ago = std::chrono::steady_clock::now() - moment;
  const auto at = std::chrono::system_clock::now().time_since_epoch() - ago;
  return std::chrono::duration<double>(at).count();
}

}  // namespace

std::string AttemptResults::describe_state(std::size_t worker) const {
  if (const auto status = from_.supervisor.status(worker)) {
    return status->describe();
  }
  if (!from_.workers.is_alive(worker)) {
    return from_.starter.failure() ? "not started" : "starting";
  }
  return from_.supervisor.is_running_normally() ? "running" : "stopping";
}

std::vector<pid_t> AttemptResults::living_pids() const {
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < from_.plan.workers.size(); ++i) {
    if (from_.workers.is_alive(i)) {
      pids.push_back(from_.workers.pid(i));
    }
  }
  return pids;
}

std::vector<uid_t> AttemptResults::users() const {
  std::vector<uid_t> users;
  for (std::size_t i = 0; i < from_.plan.workers.size(); ++i) {
    users.push_back(from_.workers.user(i));
  }
  return users;
}

std::vector<control::WorkerStatus> AttemptResults::describe_workers() const {
  std::vector<control::WorkerStatus> all;
  for (std::size_t i = 0; i < from_.plan.workers.size(); ++i) {
    const WorkerPlan& planned = from_.plan.workers[i];
    control::WorkerStatus& status = all.emplace_back();
    status.role = planned.role;
    status.global_rank = planned.global_rank.value;
    status.local_rank = planned.local_rank.value;
    status.state = describe_state(i);
    status.pid = from_.workers.pid(i);
    status.is_alive = from_.workers.is_alive(i);
    if (status.pid > 0) {
      status.since = since_1970(status.is_alive ? from_.workers.started(i) : from_.workers.ended(i));
    }
    if (const auto written = from_.streams.last_output(i); written && status.pid > 0) {
      status.output_age = std::chrono::duration<double>(std::chrono::steady_clock::now() - *written).count();
    }
  }
  return all;
}

// Failures of workers and services.

Failure AttemptResults::service_failure() const {
  Failure failure;
  failure.node = from_.plan.placement.node_rank;
  failure.host = from_.run.options.host_name;
  failure.service = from_.services.failure()->service;
  failure.start_error = from_.services.failure()->error.message;
  failure.exit_code = from_.supervisor.conclusion().exit_code;
  return failure;
}

Failure AttemptResults::worker_failure(std::size_t worker) const {
  const WorkerPlan& planned = from_.plan.workers[worker];
  const auto& unstarted = from_.starter.failure();
  Failure failure;
  failure.node = from_.plan.placement.node_rank;
  failure.host = from_.run.options.host_name;
  failure.role = planned.role;
  failure.label = planned.label;
  failure.is_unranked = planned.is_unranked;
  failure.global_rank = planned.global_rank;
  failure.local_rank = planned.local_rank;
  failure.pid = from_.workers.pid(worker);
  failure.status = from_.supervisor.status(worker);
  failure.run_time_seconds = from_.workers.run_time_seconds(worker);
  const auto explained = from_.services.explanations().find(worker);
  failure.start_error = explained != from_.services.explanations().end() ? explained->second
                        : unstarted && unstarted->worker == worker       ? unstarted->error.message
                                                                         : "";
  failure.error_message = from_.preparation.error_files().message(worker);
  failure.last_lines = from_.streams.last_lines(worker);
  failure.has_joined_streams =
      from_.streams.connection_of(worker).is_joined || from_.streams.keeps_lines_of_output(worker);
  if (failure.status && !is_crash(*failure.status)) {  // lines before a crash do not explain it
    failure.error_at = from_.streams.error_since(worker, from_.workers.ended(worker) - kErrorBeforeEnd);
  }
  failure.exit_code = from_.supervisor.conclusion().exit_code;  // of a worker that was not started, or that hung
  failure.is_hung = !hang_.empty() && from_.supervisor.conclusion().first_failure == worker;
  if (failure.is_hung) {
    failure.start_error = hang_;
    failure.is_unkillable = is_unkillable_;
  } else if (failure.status) {
    failure.was_passed_on = from_.workers.has_passed_on(*failure.status);
    failure.hints = hints_for(failure, worker);
    failure.exit_code = std::max(failure.status->shell_code(), 1);
  }
  return failure;
}

namespace {

/// Finds the compiler's cache of which the last lines complain, if it is on a network file system.
std::optional<NetworkCache> find_network_cache(const std::string& last_output,
                                               const std::map<std::string, std::string>& variables) {
  auto path = find_cache_trouble(last_output);
  for (const char* const variable : {"TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "HOME"}) {
    const auto found = path && path->empty() ? variables.find(variable) : variables.end();
    path = found == variables.end() ? path : found->second;
  }
  const std::string type = path ? network_type_of(*path) : "";
  return type.empty() ? std::nullopt : std::optional(NetworkCache{*path, type});
}

}  // namespace

/// Hints that only this node can give, from its kernel's counters and the worker's output.
std::vector<std::string> AttemptResults::hints_for(const Failure& failure, std::size_t worker) const {
  EndFacts facts;
  facts.status = *failure.status;
  facts.node = describe_node(failure.node, failure.host);
  facts.last_output = join(failure.last_lines, "\n") + failure.error_message;
  facts.use = from_.workers.use(worker);
  const MemoryGroup& group = from_.run.memory_group;
  if (const auto kills = read_oom_counter(group.oom_counter)) {
    facts.oom_kills = {.file = group.oom_counter,
                       .before = from_.preparation.oom_kills_before(),
                       .after = *kills,
                       .limit = group.limit,
                       .peak = read_memory_peak(group)};
  }
  if (!from_.run.options.caches.store) {
    facts.cache = find_network_cache(facts.last_output, from_.run.variables);
  }
  return end_hints(facts);
}

/// True if the worker failed so close to the first one that their order is unknown, or if both died of one signal
/// that muster forwarded to all. If another node has ended the attempt, true for a worker that had ended by itself
/// before this node heard of it: it may have been the first of the job.
bool AttemptResults::is_suspect(const WorkerEnded& failed) const {
  const auto first = from_.supervisor.conclusion().first_failure;
  if (!hang_.empty()) {
    return first == failed.worker;
  }
  if (!first) {
    return failed.exited_before_stop;
  }
  if (!from_.supervisor.status(*first)) {
    return false;
  }
  const WorkerEnded& earliest = from_.supervisor.failed().front();
  const bool is_of_one_signal =
      earliest.status.signal() == failed.status.signal() && from_.workers.has_passed_on(earliest.status);
  return failed.exited_before_stop || is_of_one_signal ||
         from_.workers.ended(failed.worker) - from_.workers.ended(earliest.worker) < kOrderWindow;
}

/// The first failure, and those so close to it that their order is unknown; empty: none before the stop signal.
std::vector<Failure> AttemptResults::suspects() const {
  const AttemptOutcome conclusion = from_.supervisor.conclusion();
  std::vector<Failure> suspects;
  if (!hang_.empty()) {
    return {worker_failure(*conclusion.first_failure)};
  }
  if (conclusion.verdict == Verdict::Failed && !conclusion.first_failure) {
    suspects.push_back(service_failure());
  } else if (conclusion.first_failure && !from_.supervisor.status(*conclusion.first_failure)) {
    suspects.push_back(worker_failure(*conclusion.first_failure));
  }
  for (const WorkerEnded& failed : from_.supervisor.failed()) {
    if (is_suspect(failed)) {
      suspects.push_back(worker_failure(failed.worker));
    }
  }
  return suspects;
}

void AttemptResults::note_hang(const std::string& why, bool is_unkillable) {
  hang_ = why;
  is_unkillable_ = is_unkillable;
}

Failure AttemptResults::first_failure() const {
  std::vector<Failure> all = suspects();
  return take_most_likely(all);
}

gang::AttemptOver AttemptResults::over() const {
  gang::AttemptOver over;
  over.gave_up = from_.supervisor.conclusion().gave_up;
  std::vector<Failure> close = suspects();
  if (!close.empty()) {
    over.failure = take_most_likely(close);
  }
  for (Failure& other : close) {
    over.also_failed.add(std::move(other));
  }
  for (const WorkerEnded& failed : from_.supervisor.failed()) {
    if (!is_suspect(failed)) {
      over.also_failed.add(worker_failure(failed.worker));
    }
  }
  for (Failure& asked : asked_with_an_error()) {
    over.also_failed.add(std::move(asked));
  }
  for (std::size_t i = 0; from_.supervisor.has_notice() && i < from_.plan.workers.size(); ++i) {
    const WorkerOutcome outcome = from_.supervisor.outcome(i);
    const bool has_erred = outcome == WorkerOutcome::Failed || erred_when_asked(outcome, from_.supervisor.status(i));
    if (has_erred && !from_.plan.workers[i].is_unranked) {
      over.erred_after_notice.push_back(from_.plan.workers[i].global_rank.value);
    }
  }
  return over;
}

/// Failures of workers that were asked to end after another failure, but had just written an error of their own: they
/// may be the cause.
std::vector<Failure> AttemptResults::asked_with_an_error() const {
  std::vector<Failure> asked;
  for (std::size_t i = 0; i < from_.plan.workers.size() && !from_.supervisor.conclusion().stop_signal; ++i) {
    std::vector<std::string> lines = from_.streams.last_lines_before_stop(i);
    if (from_.supervisor.outcome(i) == WorkerOutcome::Stopped && shows_own_error(lines)) {
      Failure& failure = asked.emplace_back(worker_failure(i));
      failure.was_asked = true;
      failure.last_lines = std::move(lines);
      failure.error_message.clear();  // it may be about the stop
      failure.hints.clear();
    }
  }
  return asked;
}

}  // namespace muster
