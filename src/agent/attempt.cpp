// Carries out one attempt: turns what happens to processes into events, and the supervisor's actions into system
// calls. The supervisor decides.
#include "agent/attempt.hpp"

#include "environment/cgroups.hpp"
#include "supervise/first_failure.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace muster {
namespace {

/// Calls the one of these lambdas that takes the alternative that a variant holds.
template <typename... Calls>
struct Overloaded : Calls... {
  using Calls::operator()...;
};
template <typename... Calls>
Overloaded(Calls...) -> Overloaded<Calls...>;

/// Delay before a worker with closed output is reported: usually it is about to exit.
constexpr std::chrono::seconds kSilentDelay{1};
/// Delay between SIGTSTP and SIGSTOP, for a program to restore the terminal's settings and stop its own workers.
constexpr std::chrono::milliseconds kHoldDelay{100};

std::vector<bool> deciding_workers(const LaunchPlan& plan) {
  std::vector<bool> deciding;
  for (const WorkerPlan& worker : plan.workers) {
    deciding.push_back(worker.decides_success);
  }
  return deciding;
}

}  // namespace

Attempt::Attempt(AttemptOwner& owner, const AttemptInput& input, OutputQueues& queues, LaunchPlan plan,
                 std::unique_ptr<Services> services)
    : owner_(owner),
      plan_(std::move(plan)),
      streams_(input.io, queues, plan_, input.run),
      supervisor_(deciding_workers(plan_)),
      workers_(plan_, input.run.inherited,
               {input.run.variables,
                plan_.is_transparent ? std::string() : add_marker(input.run.variables, input.run.marker)},
               input.standbys.are_wanted() ? &input.standbys : nullptr),
      services_(std::move(services)),
      preparation_(input, plan_, streams_, *services_),
      starter_(input, plan_, workers_, streams_, preparation_),
      successes_(input.io, plan_, workers_, [this] { report_early_exits(); }),
      results_({input.run, plan_, supervisor_, workers_, streams_, *services_, preparation_, starter_}),
      log_(plan_, workers_, supervisor_, input.run.options),
      stop_(input, plan_, workers_, log_),
      calls_(input, plan_, workers_),
      deaths_(input.io, ::fcntl(workers_.reaper().ready_fd(), F_DUPFD_CLOEXEC, 3)),
      silence_timer_(input.io, kSilentDelay, [this] { report_closed_outputs(); }),
      pause_timer_(input.io, kHoldDelay, [this] { workers_.hold(); }),
      failure_debounce_(input.io, kOrderWindow, [this] { act_on_failures(); }) {
  const gang::GangOptions& options = input.run.job.gang.config.options;
  if (options.early_exit_timeout || options.on_early_exit == gang::OnEarlyExit::Fail) {
    successes_.want_all();
  }
  streams_.on_end = std::bind_front(&Attempt::on_output_end, this);
  streams_.on_first_output = [this, &standbys = input.standbys, &read_ahead = input.read_ahead](std::size_t worker) {
    standbys.note_first_line();
    if (const auto& program = preparation_.programs().of(0); read_ahead.is_wanted() && program) {
      read_ahead.note_first_line(plan_.workers.front(), *program, workers_.pid(0));
    }
    record({.kind = ledger::Kind::FirstOutput}, worker);
  };
  streams_.on_resized = [this](std::size_t worker) { workers_.signal(worker, SIGWINCH); };
  starter_.on_started = [this](std::size_t worker) {
    log_.on_started(worker);
    services_->on_worker_started(worker);
    stop_.on_started(worker);
    record({.kind = ledger::Kind::WorkerStarted,
            .number = workers_.pid(worker),
            .text = workers_.was_standby(worker) ? "from standby" : ""},
           worker);
  };
  starter_.on_failure = [this](const StartFailure& failure) {
    handle(WorkerNotStarted{failure.worker, failure.error.exit_code()});
  };
  services_->on_failure = std::bind_front(&Attempt::on_service_failure, this);
  calls_.on_long = [this](const CallWatch::Found& found) { log_.on_long_call(found); };
  calls_.on_over = [this](const CallWatch::Found& found) { log_.on_long_call_over(found); };
  calls_.on_too_long = std::bind_front(&Attempt::on_too_long_call, this);
  stop_.poll = [this] {
    act_on_failures();
    return !supervisor_.is_finished();
  };
  stop_.on_event = std::bind_front(&Attempt::handle, this);
}

void Attempt::start() {
  wait_for_deaths();
  calls_.start();
  std::ranges::for_each(supervisor_.start(), std::bind_front(&Attempt::carry_out, this));
  process();  // ends the attempt at once if this node has no workers
}

// --- Requests from outside ----------------------------------------------------------------------

void Attempt::stop(int signal, const std::string& reason, std::optional<std::chrono::milliseconds> most_grace) {
  act_on_failures();
  stop_.note_order(reason, most_grace);
  handle(StopOrdered{signal});
}

bool Attempt::take_notice(bool is_withdrawn, std::optional<int> signal) {
  act_on_failures();  // a worker that is dead by now has not ended because of the notice
  handle(is_withdrawn ? Event(NoticeWithdrawn{}) : Event(NoticeGiven{signal}));
  if (is_withdrawn) {
    stop_.forget_notice();
  } else if (signal && supervisor_.is_running_normally()) {
    return stop_.send_notice(*signal);
  }
  return false;
}

void Attempt::end_hung(const gang::Hung& hung) {
  act_on_failures();
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < plan_.workers.size() && supervisor_.is_running_normally(); ++i) {
    if (workers_.is_alive(i) && std::ranges::count(hung.ranks, plan_.workers[i].global_rank.value) > 0) {
      workers_.abort(i);
      first = first.value_or(i);
    }
  }
  if (first) {
    results_.note_hang(hung.why, /*is_unkillable=*/false);
    handle(WorkerHung{*first, exit_code_of(EndKind::Hung)});
  }
}

void Attempt::kill() {
  collect_deaths();
  handle(GuardLost{});
}

void Attempt::pass_on(int signal) {
  if (const auto reader = starter_.reader(); signal == SIGCONT && reader && workers_.is_alive(*reader)) {
    starter_.terminal().lend_again(workers_.pid(*reader));
  }
  if (signal == SIGWINCH || signal == SIGCONT) {
    streams_.fit_windows();  // before the workers ask for the size
  }
  workers_.pass_on(signal);
  if (signal == SIGTSTP) {
    streams_.leave_rows();
    pause_timer_.ask();  // when it expires, workers whose handler for SIGTSTP has not stopped them are stopped
  } else if (signal == SIGCONT) {
    streams_.redraw_rows();
    pause_timer_.cancel();
  }
}

void Attempt::poll_deaths() {
  collect_deaths();
  if (is_failure_waiting()) {
    failure_debounce_.ask();
  } else {
    process();
  }
}

void Attempt::act_on_failures() {
  collect_deaths();
  process();
}

void Attempt::poll_stops() {
  poll_deaths();
  const Terminal& terminal = starter_.terminal();
  for (const Stopped& stopped : workers_.reaper().collect_stopped()) {
    const bool asks_for_terminal = stopped.signal == SIGTTIN || stopped.signal == SIGTTOU;
    const bool is_from_terminal = terminal.is_ours() || (terminal.is_wanted() && asks_for_terminal);
    if (is_from_terminal && stopped.worker == starter_.reader()) {
      streams_.leave_rows();
      terminal.send_sigstop_to_guard();  // after Ctrl-Z, or a read in the background: `fg` resumes the job
    } else if (stopped.signal != SIGTSTP && !workers_.is_held(stopped.worker)) {  // otherwise we sent the signal
      log_.on_stopped(stopped);
    }
  }
}

void Attempt::cancel() {
  rest();
  successes_.cancel();
}

// --- Handlers of the event loop -----------------------------------------------------------------

void Attempt::wait_for_deaths() {
  deaths_.async_wait(Descriptor::wait_read, [this](const ErrorCode& error) {
    if (error) {
      return;
    }
    poll_deaths();
    if (deaths_.is_open()) {
      wait_for_deaths();
    }
  });
}

void Attempt::on_output_end(std::size_t worker) {
  if (workers_.is_alive(worker) && streams_.has_ended(worker)) {
    silence_timer_.ask();  // if the worker runs on, its user should know where later lines went
  }
}

/// Reaps workers first: one that ended earlier may be the reason of the failure.
void Attempt::on_service_failure(const ServiceFailure& failure) {
  act_on_failures();
  if (!supervisor_.is_running_normally() || !supervisor_.has_living_workers()) {
    log_.on_unneeded_failure(failure);
    return;
  }
  stop_.note_reason("service '" + failure.service + "' failed");
  handle(ServiceFailed{failure.error.exit_code()});
}

void Attempt::report_closed_outputs() {
  poll_deaths();
  if (const auto held = workers_.reaper().collect_traced_zombies(); !held.empty()) {
    note(held);
    process();
  }
  for (std::size_t i = 0; i < starter_.tried(); ++i) {
    if (workers_.is_alive(i) && streams_.has_ended(i)) {
      log_.on_outputs_closed(i);
    }
  }
}

/// Fails the attempt because of a call that does not end. SIGABRT reaches the worker only if the call ends after all.
void Attempt::on_too_long_call(const CallWatch::Found& found) {
  act_on_failures();
  if (supervisor_.is_running_normally() && workers_.is_alive(found.worker)) {
    workers_.abort(found.worker);
    results_.note_hang(describe(found), /*is_unkillable=*/true);
    handle(WorkerHung{found.worker, exit_code_of(EndKind::Hung)});
  }
}

void Attempt::report_early_exits() {
  poll_deaths();
  for (const std::size_t worker : successes_.take_early_exits()) {
    if (has_succeeded()) {
      log_.on_early_end(worker);
    }
  }
}

// --- Turning what happened into events ----------------------------------------------------------

void Attempt::collect_deaths() {
  note(workers_.reaper().collect());
}

void Attempt::note(const std::vector<Death>& deaths) {
  const auto guards = stop_.sent_by_guard();  // read last: the guard notes its request before the deaths that result
  for (const Death& death : deaths) {
    workers_.note_end(death);  // all of them, before anything asks which workers are alive
  }
  for (const Death& death : deaths) {
    note_death(death, guards);
  }
}

void Attempt::note_death(const Death& death, const std::optional<StopSentByGuard>& guards) {
  const bool failed_with_exit_0 = services_->explain_end(death.worker, death.status.ok()) && death.status.ok();
  log_.on_ended(death);
  record({.kind = ledger::Kind::WorkerEnded,
          .number = death.status.shell_code(),
          .text = death.status.describe(),
          .memory_peak = death.memory_peak},
         death.worker);
  services_->on_worker_ended(death.worker, death.status.ok());
  const auto request_stop_by_others = [this](int signal) {  // for a signal that workers have got from others
    events_.emplace_back(StopRequested{signal});
    has_unreported_stop_ = true;
  };
  const bool is_interrupted = starter_.terminal().is_ours() && death.status.signal() == SIGINT;
  if (is_interrupted) {  // Ctrl-C on the terminal reaches the worker's process group, not us
    request_stop_by_others(SIGINT);
  }
  const bool answers_guard = guards && stop_.is_answer(death, *guards);
  if (answers_guard && supervisor_.is_running_normally() && stop_.is_first_answer()) {
    request_stop_by_others(guards->signal);
  }
  if (!stop_.has_asked() && !answers_guard) {
    successes_.note(death);
  }
  const bool is_unasked = !(stop_.has_asked() || answers_guard) || workers_.was_exiting(death.worker);
  events_.emplace_back(WorkerEnded{death.worker, death.status, is_unasked && !is_interrupted, failed_with_exit_0});
}

void Attempt::record(ledger::Event event, std::size_t worker) {
  event.rank = plan_.workers[worker].global_rank.value;
  owner_.record(std::move(event));
}

/// True while only failures are queued that may be consequences, and the worker that failed first may still be
/// crashing: a stop signal now would hide its failure.
bool Attempt::is_failure_waiting() const {
  const auto status_of = [](const Event& event) {
    const auto* const ended = std::get_if<WorkerEnded>(&event);
    return ended == nullptr ? std::nullopt : std::optional(ended->status);
  };
  const auto may_be_consequence = [&](const Event& event) {
    const auto status = status_of(event);
    return status && !is_crash(*status);
  };
  const auto is_failure = [&](const Event& event) { return !status_of(event)->ok(); };
  return !stop_.has_asked() && !workers_.living_pids().empty() &&
         std::all_of(events_.begin(), events_.end(), may_be_consequence) &&
         std::any_of(events_.begin(), events_.end(), is_failure);
}

void Attempt::handle(const Event& event) {
  events_.push_back(event);
  process();
}

void Attempt::process() {
  failure_debounce_.cancel();
  const auto is_nothing_left = [this] {
    return !supervisor_.has_living_workers() && !supervisor_.is_finished() && stop_.is_nothing_left();
  };
  while (!events_.empty() || is_nothing_left()) {
    const Event event = events_.empty() ? Event(NothingLeft{}) : events_.front();
    if (!events_.empty()) {
      events_.pop_front();
    }
    // Only now: a failure queued earlier is the reason of the job's end.
    const auto* const request = std::get_if<StopRequested>(&event);
    if (request != nullptr && std::exchange(has_unreported_stop_, false)) {
      owner_.on_workers_asked(request->signal);
    }
    std::ranges::for_each(supervisor_.on(event), std::bind_front(&Attempt::carry_out, this));
  }
  stop_.ask_adopted();
}

bool Attempt::has_succeeded() const {
  return supervisor_.conclusion().verdict == Verdict::Succeeded && !stop_.is_ordered();
}

// Actions of the supervisor, and requests of services, as system calls.

namespace {

std::optional<int> rank_of_worker(const LaunchPlan& plan, std::optional<std::size_t> worker) {
  return worker ? std::optional(plan.workers[*worker].global_rank.value) : std::nullopt;
}

}  // namespace

void Attempt::carry_out(const Action& action) {
  const auto calls =
      Overloaded{[this](const StartWorkers& /*action*/) { starter_.start(); },
                 [this](const ReportFailure& /*action*/) { owner_.on_first_failure(results_.first_failure()); },
                 [this](const ReportSuccess& success) {
                   if (const auto message = successes_.message_for(success)) {
                     owner_.on_success(*message);
                   }
                 },
                 [this](const CancelStart& /*action*/) {
                   if (const auto first = starter_.cancel()) {
                     events_.emplace_back(WorkerNotStarted{*first, 0});
                   }
                 },
                 [this](const SendStopSignal& stop) {
                   collect_deaths();  // a worker that is dead by now has not ended by our signal
                   pause_timer_.cancel();
                   streams_.note_stop();
                   owner_.record({.kind = ledger::Kind::StopSent, .number = stop.signal});
                   stop_.send_stop_signal(stop.signal);
                 },
                 [this](const StartGrace& /*action*/) { stop_.start_grace(); },
                 [this](const TellGrace& request) { stop_.tell_grace(request); },
                 [this](const StopOrphans& /*action*/) {
                   services_->on_workers_over(has_succeeded());
                   stop_.stop_orphans(has_succeeded());
                 },
                 [this](const KillEverything& /*action*/) {
                   collect_deaths();
                   owner_.record({.kind = ledger::Kind::KillSent});
                   stop_.kill();
                 },
                 [this](const Finish& /*action*/) {
                   rest();
                   owner_.on_gone();
                   preparation_.error_files().read(supervisor_.failed(), std::bind_front(&Attempt::finish, this));
                 }};
  std::visit(calls, action);
}

/// Cancels every wait, since no process is left to wait for.
void Attempt::rest() {
  preparation_.cancel();
  stop_.cancel();
  calls_.cancel();
  silence_timer_.cancel();
  pause_timer_.cancel();
  failure_debounce_.cancel();
  ErrorCode ignored;  // closed in any case
  deaths_.close(ignored);
  starter_.terminal().give_back();  // before the next attempt asks for the terminal
}

/// Reads the remaining output of the processes, which have all ended, and ends the attempt. The gang hears of it
/// without waiting for a console or a file.
void Attempt::finish() {
  streams_.finish();
  services_->stop();
  owner_.on_over();
}

// --- Requests of services -------------------------------------------------------------------------

std::optional<int> Attempt::rank_of(pid_t pid) const {
  return rank_of_worker(plan_, workers_.find_ancestor_worker(pid));
}

std::optional<int> Attempt::signal_process(pid_t pid, int signal) {
  return rank_of_worker(plan_, workers_.signal_member(pid, signal));
}

}  // namespace muster
