// What the supervisor wants, and what services ask for, as system calls.
#include "agent/attempt.hpp"

#include <csignal>
#include <set>
#include <utility>

namespace muster {
namespace {

std::vector<std::size_t> failed_workers(const Supervisor& supervisor) {
  std::vector<std::size_t> workers;
  workers.reserve(supervisor.failed().size());
  for (const FailedWorker& failed : supervisor.failed()) {
    workers.push_back(failed.worker);
  }
  return workers;
}

std::optional<int> rank_of_worker(const LaunchPlan& plan, std::optional<std::size_t> worker) {
  return worker ? std::optional(plan.workers[*worker].global_rank.value) : std::nullopt;
}

}  // namespace

void Attempt::act(const StartWorkers& /*action*/) {
  starter_.start();
}

void Attempt::act(const ReportFailure& /*action*/) {
  on_failure(*failures().first);
}

void Attempt::act(const ReportSuccess& action) {
  if (const auto message = successes_.message_for(action)) {
    on_success(*message);
  }
}

void Attempt::act(const CancelStart& /*action*/) {
  if (const auto first = starter_.cancel()) {
    events_.emplace_back(WorkerNotStarted{*first, 0});
  }
}

void Attempt::act(const SendStopSignal& action) {
  collect_deaths();  // who is dead by now has not ended by our signal
  has_asked_ = true;
  request_.signal = action.signal;
  request_.grace = grace_.length();
  const auto guards = guards_request();
  workers_.send_stop_signal(action.signal, guards ? std::optional(guards->at) : std::nullopt);
  pause_timer_.cancel();
  workers_.go_on();  // a stopped worker could not act on it
  std::set<pid_t> living = workers_.living_pids();
  if (living.size() < starter_.tried() && Reaper::has_children() && !guards) {
    living.merge(excluded());
    sweeper_.send_stop_signal(sweeper_.orphans(living), action.signal);
  }
  notify(&AttemptListener::on_asked_to_end, request_);
}

/// After a success there is time to see what ends by itself.
void Attempt::act(const StopOrphans& /*action*/) {
  services_.on_workers_over(is_succeeding());
  if (!Reaper::has_children()) {
    return;
  }
  if (is_succeeding()) {
    orphan_timer_.ask();
  } else {
    sweeper_.send_stop_signal(sweeper_.orphans(excluded()), request_.signal);
  }
}

void Attempt::act(const StartGrace& /*action*/) {
  grace_.start();
}

void Attempt::act(const KillEverything& /*action*/) {
  grace_.cancel();
  orphan_timer_.cancel();
  collect_deaths();
  has_asked_ = true;
  kill_rounds_.start();
}

void Attempt::act(const Finish& /*action*/) {
  rest();
  on_gone();
  error_files_.read(failed_workers(supervisor_), std::bind_front(&Attempt::finish, this));
}

/// Nothing is alive, so nothing of it is waited for.
void Attempt::rest() {
  programs_.cancel();
  grace_.cancel();
  kill_rounds_.cancel();
  ready_timer_.cancel();
  silence_timer_.cancel();
  orphan_timer_.cancel();
  pause_timer_.cancel();
  failure_debounce_.cancel();
  left_by_ranks_.cancel();
  streams_.stop_opening();
  ErrorCode ignored;  // it is closed in any case
  deaths_.close(ignored);
  terminal_.give_back();  // before the next attempt asks for it
}

/// Every process has ended: what they wrote is read, and only then is the attempt over. Who waits to hear
/// of it does not wait for a console or a file.
void Attempt::finish() {
  streams_.finish();
  notify(&AttemptListener::on_over);
  on_over();
}

/// What descends from us and is none of the workers'.
std::set<pid_t> Attempt::excluded() const {
  std::set<pid_t> pids = input_.sidecars.pids();
  pids.insert(input_.helpers.pids().begin(), input_.helpers.pids().end());
  return pids;
}

// --- What ended workers have left ---------------------------------------------------------------

void Attempt::check_orphans() {
  poll_deaths();
  if (supervisor_.is_finished()) {
    return;
  }
  if (!is_proc_ours()) {
    give_up_waiting({});  // what cannot be seen can be neither asked nor killed
    return;
  }
  end_orphans(sweeper_.orphans(excluded()));
}

void Attempt::end_orphans(const std::vector<Process>& left) {
  notify(&AttemptListener::on_left_behind, left);
  sweeper_.send_stop_signal(left, request_.signal);
}

// --- What services ask for ------------------------------------------------------------------------

std::optional<int> Attempt::rank_of(pid_t pid) const {
  return rank_of_worker(plan_, workers_.find_above(pid));
}

std::optional<int> Attempt::signal_process(pid_t pid, int signal) {
  return rank_of_worker(plan_, workers_.signal_member(pid, signal));
}

// --- Before the first start ---------------------------------------------------------------------

int Attempt::prepare() {
  const auto go_on = std::bind_front(&WorkerStarter::go_on, &starter_);
  const bool has_error_files = error_files_.prepare(go_on);
  const bool has_services = services_.start(plan_);
  if (!has_services) {
    ready_timer_.ask();
  }
  const bool has_files = streams_.open_files(go_on);
  const bool has_programs = programs_.find(go_on);
  return (has_services ? 0 : 1) + (has_files ? 0 : 1) + (has_error_files ? 0 : 1) +
         (has_programs ? 0 : 1);
}

}  // namespace muster
