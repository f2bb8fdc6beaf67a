// Combines the plan with what happened to it: results, failures and log messages of an attempt.
#include "agent/attempt_results.hpp"

#include "agent/attempt.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "environment/cgroups.hpp"
#include "process/descendants.hpp"
#include "supervise/first_failure.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace muster {

/// Waits 5 s: a scheduler exits when its workers need it no more, a little before they exit.
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

std::vector<WorkerResult> Attempt::results() const {
  std::vector<WorkerResult> results = results_without_start(plan_);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].outcome = supervisor_.outcome(i);
    results[i].pid = workers_.pid(i);
    results[i].status = supervisor_.status(i);
    results[i].run_time_seconds = workers_.run_time_seconds(i);
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

std::string Attempt::describe_state(std::size_t worker) const {
  if (const auto status = supervisor_.status(worker)) {
    return status->describe();
  }
  if (!workers_.is_alive(worker)) {
    return starter_.failure() ? "not started" : "starting";
  }
  return supervisor_.is_running_normally() ? "running" : "stopping";
}

std::vector<pid_t> Attempt::living_pids() const {
  std::vector<pid_t> pids;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    if (workers_.is_alive(i)) {
      pids.push_back(workers_.pid(i));
    }
  }
  return pids;
}

std::vector<uid_t> Attempt::users() const {
  std::vector<uid_t> users;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    users.push_back(workers_.user(i));
  }
  return users;
}

std::vector<control::WorkerStatus> Attempt::describe_workers() const {
  std::vector<control::WorkerStatus> all;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    const WorkerPlan& planned = plan_.workers[i];
    control::WorkerStatus& status = all.emplace_back();
    status.role = planned.role;
    status.global_rank = planned.global_rank.value;
    status.local_rank = planned.local_rank.value;
    status.state = describe_state(i);
    status.pid = workers_.pid(i);
    status.is_alive = workers_.is_alive(i);
    if (status.pid > 0) {
      status.since = since_1970(status.is_alive ? workers_.started(i) : workers_.ended(i));
    }
    if (const auto written = streams_.last_output(i); written && status.pid > 0) {
      status.output_age = std::chrono::duration<double>(std::chrono::steady_clock::now() - *written).count();
    }
  }
  return all;
}

// Failures of workers and services.

Failure Attempt::service_failure() const {
  Failure failure;
  failure.node = plan_.placement.node_rank;
  failure.host = input_.run.options.host_name;
  failure.service = services_->failure()->service;
  failure.start_error = services_->failure()->error.message;
  failure.exit_code = supervisor_.conclusion().exit_code;
  return failure;
}

Failure Attempt::worker_failure(std::size_t worker) const {
  const WorkerPlan& planned = plan_.workers[worker];
  const auto& unstarted = starter_.failure();
  Failure failure;
  failure.node = plan_.placement.node_rank;
  failure.host = input_.run.options.host_name;
  failure.role = planned.role;
  failure.label = planned.label;
  failure.is_unranked = planned.is_unranked;
  failure.global_rank = planned.global_rank;
  failure.local_rank = planned.local_rank;
  failure.pid = workers_.pid(worker);
  failure.status = supervisor_.status(worker);
  failure.run_time_seconds = workers_.run_time_seconds(worker);
  const auto explained = services_->explanations().find(worker);
  failure.start_error = explained != services_->explanations().end() ? explained->second
                        : unstarted && unstarted->worker == worker   ? unstarted->error.message
                                                                     : "";
  failure.error_message = preparation_.error_files().message(worker);
  failure.last_lines = streams_.last_lines(worker);
  failure.exit_code = supervisor_.conclusion().exit_code;  // of a worker that was not started, or that hung
  failure.is_hung = !hang_.empty() && supervisor_.conclusion().first_failure == worker;
  if (failure.is_hung) {
    failure.start_error = hang_;
    failure.is_unkillable = is_unkillable_;
  } else if (failure.status) {
    failure.was_passed_on = workers_.has_passed_on(*failure.status);
    failure.hints = hints_for(failure, worker);
    failure.exit_code = std::max(failure.status->shell_code(), 1);
  }
  return failure;
}

/// Hints that only this node can give, from its kernel's counters and the worker's output.
std::vector<std::string> Attempt::hints_for(const Failure& failure, std::size_t worker) const {
  EndFacts facts;
  facts.status = *failure.status;
  facts.last_output = join(failure.last_lines, "\n") + failure.error_message;
  facts.use = workers_.use(worker);
  const OomKills& before = preparation_.oom_kills();
  const auto kills = failure.status->signal() == SIGKILL ? read_oom_counter(before.file) : std::nullopt;
  if (kills) {
    facts.oom_kills = {.file = before.file, .before = before.before, .after = *kills};
  }
  return end_hints(facts);
}

/// True if the worker failed too close to the first one to know their order, or both died of one signal that muster
/// forwarded to all.
bool Attempt::is_suspect(const WorkerEnded& failed) const {
  const auto first = supervisor_.conclusion().first_failure;
  if (!hang_.empty()) {
    return first == failed.worker;
  }
  if (!first || !supervisor_.status(*first)) {
    return false;
  }
  const WorkerEnded& earliest = supervisor_.failed().front();
  const bool is_of_one_signal =
      earliest.status.signal() == failed.status.signal() && workers_.has_passed_on(earliest.status);
  return failed.exited_before_stop || is_of_one_signal ||
         workers_.ended(failed.worker) - workers_.ended(earliest.worker) < kOrderWindow;
}

/// The first failure, with those that are too close to it to know their order; empty: none before the stop signal.
std::vector<Failure> Attempt::suspects() const {
  const AttemptOutcome conclusion = supervisor_.conclusion();
  std::vector<Failure> suspects;
  if (!hang_.empty()) {
    return {worker_failure(*conclusion.first_failure)};
  }
  if (conclusion.verdict == Verdict::Failed && !conclusion.first_failure) {
    suspects.push_back(service_failure());
  } else if (conclusion.first_failure && !supervisor_.status(*conclusion.first_failure)) {
    suspects.push_back(worker_failure(*conclusion.first_failure));
  }
  for (const WorkerEnded& failed : supervisor_.failed()) {
    if (is_suspect(failed)) {
      suspects.push_back(worker_failure(failed.worker));
    }
  }
  return suspects;
}

void Attempt::act(const ReportFailure& /*action*/) {
  std::vector<Failure> all = suspects();
  owner_.on_first_failure(take_most_likely(all));
}

gang::AttemptOver Attempt::over() const {
  gang::AttemptOver over;
  over.gave_up = supervisor_.conclusion().gave_up;
  std::vector<Failure> close = suspects();
  if (!close.empty()) {
    over.failure = take_most_likely(close);
  }
  for (Failure& other : close) {
    over.also_failed.add(std::move(other));
  }
  for (const WorkerEnded& failed : supervisor_.failed()) {
    if (!is_suspect(failed)) {
      over.also_failed.add(worker_failure(failed.worker));
    }
  }
  for (Failure& asked : asked_with_an_error()) {
    over.also_failed.add(std::move(asked));
  }
  return over;
}

/// Workers that muster has asked to end after a failure, and that had just written an error of their own by then: the
/// others may have failed because of it.
std::vector<Failure> Attempt::asked_with_an_error() const {
  std::vector<Failure> asked;
  for (std::size_t i = 0; i < plan_.workers.size() && !supervisor_.conclusion().stop_signal; ++i) {
    std::vector<std::string> lines = streams_.last_lines_before_stop(i);
    if (supervisor_.outcome(i) == WorkerOutcome::Stopped && shows_own_error(lines)) {
      Failure& failure = asked.emplace_back(worker_failure(i));
      failure.was_asked = true;
      failure.last_lines = std::move(lines);
      failure.error_message.clear();  // it may be about the stop
      failure.hints.clear();
    }
  }
  return asked;
}

// Log messages; docs/troubleshooting.md explains each of them.

namespace {

std::string seconds_of(std::chrono::nanoseconds duration) {
  return format_seconds(std::chrono::duration<double>(duration).count()) + " s";
}

/// "python3 train.py": users know the script, not the interpreter.
std::string program_of(const WorkerPlan& worker) {
  const std::vector<std::string>& argv = worker.argv;
  if (!worker.script.empty()) {
    return argv.front() + " " + worker.script;
  }
  if (argv.size() > 2 && argv[1] == "-m") {
    return argv.front() + " -m " + readable(argv[2]);
  }
  const bool names_it = argv.size() > 1 && !argv[1].starts_with('-');
  return argv.front() + (names_it ? " " + readable(argv[1]) : "");
}

}  // namespace

std::string AttemptLog::describe(std::size_t worker, const std::string& unlabelled) const {
  const WorkerPlan& planned = plan_.workers[worker];
  const std::string name =
      planned.label.empty() ? describe_rank(planned.global_rank, unlabelled) : describe_process(planned);
  return name + " (pid " + std::to_string(workers_.pid(worker)) + ")";
}

ProcessNames AttemptLog::living() const {
  ProcessNames living;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    if (workers_.is_alive(i)) {
      living.add(plan_.workers[i]);
    }
  }
  return living;
}

std::vector<std::string> AttemptLog::describe_living() const {
  const ProcessNames names = living();
  return names.size() == 0 ? std::vector<std::string>() : std::vector{names.describe()};
}

/// Logged once per attempt: containers forbid the same calls for all workers.
void AttemptLog::log_refusals() {
  const int refused = workers_.memory_refusal();
  if (refused != 0 && !std::exchange(logged_memory_refusal_, true)) {
    log_warning(system_error("the workers are bound to their CPUs but not to their memory, which is "
                             "taken where it is first touched: set_mempolicy",
                             refused)
                    .message);
  }
  const auto& no_terminal = workers_.terminal_refusal();
  if (no_terminal && !std::exchange(logged_terminal_refusal_, true)) {
    const auto say = options_.terminals == When::Always ? log_warning : log_debug;
    say("the workers write into pipes and not into terminals: " + no_terminal->message);
  }
}

void AttemptLog::on_started(std::size_t worker) {
  log_refusals();
  if (is_logged(Level::Debug)) {
    log_debug(describe(worker) + " started: " + program_of(plan_.workers[worker]));
  }
}

void AttemptLog::on_ended(const Death& death) {
  if (death.traced_by) {
    log_warning(describe(death.worker) + " has ended, and the process that traces it (pid " +
                std::to_string(*death.traced_by) + ") holds it: going on without waiting for that");
  }
  if (is_logged(Level::Debug)) {
    const ProcessNames names = living();
    log_debug(describe(death.worker) + " ended: " + death.status.describe() +
              (names.size() == 0 ? "" : "; still running: " + names.describe()));
  }
}

void AttemptLog::on_silent(std::size_t worker) {
  if (!logged_silent_.insert(worker).second) {
    return;
  }
  if (const auto tracer = tracer_of_zombie(workers_.pid(worker))) {
    log_warning(describe(worker) + " has ended, and cannot be reaped while pid " + std::to_string(*tracer) +
                " traces it (ptrace)");
  } else {
    log_warning(describe_process(plan_.workers[worker]) + " closed its standard output and error and runs on");
  }
}

void AttemptLog::on_long_call(const CallWatch::Found& found) {
  log_warning(describe(found.worker) + " " + muster::describe(found) + ": its disk or device does not answer");
}

void AttemptLog::on_long_call_over(const CallWatch::Found& found) {
  log_info(describe(found.worker) + " goes on after " + std::to_string(found.length.count()) + " s");
}

void AttemptLog::on_stopped(const Stopped& stopped) {
  log_warning(describe(stopped.worker) + " was stopped by " + signal_name(stopped.signal) +
              "; it goes on with 'kill -CONT " + std::to_string(stopped.pid) + "'");
}

void AttemptLog::on_early_end(std::size_t worker) {
  log_warning(describe(worker, plan_.workers[worker].role) +
              " ended with exit code 0 while workers that it serves run on");
}

void AttemptLog::on_unneeded_failure(const ServiceFailure& failure) {
  log_warning("service '" + failure.service + "' failed when the workers were ending: " + failure.error.message);
}

std::string AttemptLog::describe_failure(std::size_t worker) const {
  if (const auto status = supervisor_.status(worker)) {
    const char* const source = workers_.has_passed_on(*status) ? ", which muster passed on" : "";
    return describe(worker) + " failed (" + status->describe() + source + ")";
  }
  return workers_.pid(worker) > 0 ? describe(worker) + " hangs"
                                  : describe_process(plan_.workers[worker]) + " could not be started";
}

std::string AttemptLog::describe_reason(const EndRequest& request) const {
  const AttemptOutcome conclusion = supervisor_.conclusion();
  if (conclusion.first_failure) {
    return describe_failure(*conclusion.first_failure);
  }
  return conclusion.stop_signal ? signal_name(*conclusion.stop_signal) + " received" : request.reason;
}

/// Logged when the grace begins, with its length, because the wait may be long.
void AttemptLog::on_asked_to_end(const EndRequest& request) {
  const ProcessNames names = living();
  if (names.size() == 0) {
    return;
  }
  const bool is_by_keyboard = supervisor_.conclusion().stop_signal == SIGINT;
  const std::string reason = describe_reason(request);
  has_logged_order_ = request.is_ordered && !reason.empty() && reason == request.reason;
  log_info((reason.empty() ? "" : reason + ": ") + "asking " + names.count(noun_of(plan_.workers)) + " to end (" +
           signal_name(request.signal) + "), killing what is left after " + seconds_of(request.grace) +
           (is_by_keyboard ? ", or at a second Ctrl-C" : ""));
}

void AttemptLog::on_late_request(const TellGrace& request, std::chrono::nanoseconds left) {
  log_info(signal_name(request.signal) + (request.is_repeated ? " received again" : " received") +
           ": what was asked to end keeps its time, " + seconds_of(left) + " left; " +
           (request.is_repeated ? "" : "another ") + "SIGINT (Ctrl-C) kills now");
}

void AttemptLog::on_still_waiting(std::chrono::nanoseconds left) {
  const ProcessNames names = living();
  log_info("waiting for " + (names.size() == 0 ? "processes that workers left behind" : names.describe()) +
           " to end, " + seconds_of(left) + " left");
}

void AttemptLog::on_overdue(std::size_t worker, const EndRequest& request, const std::string& place) {
  log_warning(describe(worker) + " did not end within " + seconds_of(request.grace) + " of " +
              signal_name(workers_.is_aborted(worker) ? SIGABRT : request.signal) +
              (place.empty() ? "" : "; it is " + place) + ": killing it");
}

void AttemptLog::on_orphans(const std::vector<Process>& left) {
  if (left.empty() || logged_orphans_) {
    return;
  }
  logged_orphans_ = true;
  const bool is_one = left.size() == 1;
  log_warning("all ranks have ended, but " +
              (is_one ? std::string("1 process that they started is")
                      : std::to_string(left.size()) + " processes that they started are") +
              " left behind: " + describe_processes(left) + "; ending " + (is_one ? "it" : "them"));
}

void AttemptLog::on_not_killed(const std::vector<Process>& left) {
  log_error("could not kill " + (left.empty() ? "a process that /proc does not show" : describe_processes(left)) +
            "; leaving it behind");
}

}  // namespace muster
