// Carries out one attempt. What to do about an event is the supervisor's to decide; here is only what
// counts as one.
#include "attempt.hpp"

#include "run_folder.hpp"

#include <muster/base/write_all.hpp>
#include <muster/environment/marker.hpp>
#include <muster/logs/error_file.hpp>
#include <muster/logs/messages.hpp>

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace muster {
namespace {

constexpr std::chrono::seconds kClosedPipesDelay{1};
constexpr std::chrono::seconds kProgressInterval{10};

constexpr std::size_t kErrorFileBytes = std::size_t{1} << 20U;

std::vector<bool> deciding_workers(const LaunchPlan& plan) {
  std::vector<bool> deciding;
  for (const WorkerPlan& worker : plan.workers) {
    deciding.push_back(worker.decides_success);
  }
  return deciding;
}

/// The value of the marker variable: behind an outer muster's, ours is added.
std::string worker_marker(const AttemptInput& input, const LaunchPlan& plan) {
  if (plan.is_transparent) {
    return {};
  }
  const auto outer = input.variables.find(kMarkerVariable);
  return outer == input.variables.end() ? input.marker : outer->second + ":" + input.marker;
}

}  // namespace

Attempt::Attempt(boost::asio::io_context& io,
                 Consoles& consoles,
                 const AttemptInput& input,
                 LaunchPlan plan,
                 std::unique_ptr<Services> services)
    : io_(io),
      input_(input),
      plan_(std::move(plan)),
      services_(std::move(services)),
      streams_(io, consoles, plan_, input.options, input.variables, input.log_folder),
      supervisor_(deciding_workers(plan_)),
      workers_(
          plan_, input.inherited, WorkerSurroundings{input.variables, worker_marker(input, plan_)}),
      sweeper_(::getpid()),
      terminal_(input.guard, /*is_wanted=*/reader_of_input().has_value()),
      deaths_(io, ::fcntl(workers_.reaper().ready_fd(), F_DUPFD_CLOEXEC, 3)),
      grace_timer_(io),
      kill_timer_(io),
      progress_timer_(io),
      closed_pipes_timer_(io),
      null_input_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      grace_(input.options.grace) {}

void Attempt::start() {
  streams_.on_end = std::bind_front(&Attempt::on_output_end, this);
  wait_for_deaths();
  carry_out(supervisor_.start());
  process();  // without workers here there is nothing to wait for
}

// --- What is asked from outside -----------------------------------------------------------------

void Attempt::stop(int signal,
                   const std::string& reason,
                   std::optional<std::chrono::milliseconds> most_grace) {
  collect_deaths();
  process();
  if (most_grace) {
    shorten_grace(*most_grace);
  }
  order_ = reason;
  events_.emplace_back(StopOrdered{signal});
  process();
}

/// The leader is lost, and the next attempt of the others counts on an end here.
void Attempt::shorten_grace(std::chrono::milliseconds most) {
  grace_ = std::min(grace_, most);
  if (grace_runs_ && Clock::now() + most < grace_timer_.expiry()) {
    grace_timer_.expires_after(most);
    grace_timer_.async_wait(std::bind_front(&Attempt::on_grace_ended, this));
  }
}

void Attempt::request_stop(int signal) {
  events_.emplace_back(StopRequested{signal});
  process();
}

void Attempt::kill() {
  collect_deaths();
  events_.emplace_back(PartnerLost{});
  process();
}

void Attempt::pass_on(int signal) {
  const auto reader = reader_of_input();
  if (signal == SIGCONT && reader && workers_.is_alive(*reader)) {
    terminal_.lend_again(workers_.pid(*reader));
  }
  workers_.signal_all(signal);
}

void Attempt::look_for_deaths() {
  collect_deaths();
  process();
}

void Attempt::look_for_stops() {
  look_for_deaths();
  say_who_was_stopped();
}

void Attempt::cancel() {
  grace_runs_ = false;
  grace_timer_.cancel();
  progress_timer_.cancel();
  kill_timer_.cancel();
  closed_pipes_timer_.cancel();
  ErrorCode ignored;  // it is closed in any case
  deaths_.close(ignored);
  terminal_.give_back();  // before the next attempt asks for it
}

// --- What wakes the loop ------------------------------------------------------------------------

void Attempt::wait_for_deaths() {
  deaths_.async_wait(Descriptor::wait_read, std::bind_front(&Attempt::on_deaths, this));
}

void Attempt::on_deaths(const ErrorCode& error) {
  if (error) {
    return;
  }
  collect_deaths();
  process();
  if (deaths_.is_open()) {
    wait_for_deaths();
  }
}

void Attempt::on_grace_ended(const ErrorCode& error) {
  if (error) {
    return;
  }
  collect_deaths();
  process();
  say_who_is_overdue();
  events_.emplace_back(GraceEnded{});
  process();
}

/// Killing races with forking, so it goes in rounds until nothing is left.
void Attempt::on_kill_round(const ErrorCode& error) {
  if (error || supervisor_.is_finished()) {
    return;
  }
  workers_.signal_all(SIGKILL);  // works without /proc, too
  const std::vector<Process> found = sweeper_.kill_round({});
  collect_deaths();
  if (Clock::now() > kill_deadline_) {
    say_error("could not kill " +
              (found.empty() ? "a process that /proc does not show" : describe_processes(found)) +
              "; leaving it behind");
    events_.emplace_back(GaveUpWaiting{});
  }
  process();
  if (!supervisor_.is_finished()) {
    kill_timer_.expires_after(kKillRound);
    kill_timer_.async_wait(std::bind_front(&Attempt::on_kill_round, this));
  }
}

void Attempt::on_closed_pipes(const ErrorCode& error) {
  closed_pipes_check_runs_ = false;
  if (error) {
    return;
  }
  collect_deaths();
  process();
  for (std::size_t i = 0; i < next_to_start_; ++i) {
    if (workers_.is_alive(i) && streams_.has_ended(i) && said_closed_pipes_.insert(i).second) {
      say_warning("rank " + to_string(plan_.workers[i].global_rank) +
                  " closed its standard output and error and runs on");
    }
  }
}

void Attempt::on_output_end(std::size_t worker) {
  if (closed_pipes_check_runs_ || !workers_.is_alive(worker) || !streams_.has_ended(worker)) {
    return;
  }
  // Usually it is about to end. If not, its user should know where its lines went.
  closed_pipes_check_runs_ = true;
  closed_pipes_timer_.expires_after(kClosedPipesDelay);
  closed_pipes_timer_.async_wait(std::bind_front(&Attempt::on_closed_pipes, this));
}

/// Starts one worker and comes back through the loop: with a thousand of them, a signal or a death
/// in between must not wait for the last.
void Attempt::on_start_turn() {
  if (start_was_cancelled_ || next_to_start_ == plan_.workers.size()) {
    return;
  }
  const std::size_t worker = next_to_start_++;
  if (auto started = start_worker(worker); !started) {
    unstartable_ = worker;
    start_error_ = started.error().message;
    start_was_cancelled_ = true;
    events_.emplace_back(WorkerNotStarted{worker, started.error().exit_code()});
    process();
    return;
  }
  say_memory_refusal();
  if (is_said(Level::Debug)) {
    say_debug(describe_worker(worker) + " started: " + plan_.workers[worker].argv.front());
  }
  boost::asio::post(io_, std::bind_front(&Attempt::on_start_turn, this));
}

// --- From what happened to events ---------------------------------------------------------------

void Attempt::collect_deaths() {
  const std::vector<Death> deaths = workers_.reaper().collect();
  for (const Death& death : deaths) {
    workers_.note_end(death.worker);  // of all, before anything is asked about the living
    services_->on_worker_ended(death.worker);
  }
  const bool is_unasked = supervisor_.is_undisturbed();
  for (const Death& death : deaths) {
    say_death(death);
    if (terminal_.is_ours() && death.status.signal() == SIGINT) {
      // Ctrl-C on the terminal goes to the worker's group, not to us.
      events_.emplace_back(StopRequested{SIGINT});
      on_interrupt();
    }
    events_.emplace_back(WorkerEnded{death.worker, death.status, is_unasked});
  }
}

void Attempt::process() {
  while (!events_.empty() || is_nothing_left()) {
    const Event event = events_.empty() ? Event(NothingLeft{}) : events_.front();
    if (!events_.empty()) {
      events_.pop_front();
    }
    carry_out(supervisor_.on(event));
  }
}

void Attempt::carry_out(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    std::visit([this](const auto& wanted) { act(wanted); }, action);
  }
}

bool Attempt::is_nothing_left() const {
  return !supervisor_.has_living_workers() && !supervisor_.is_finished() && !Reaper::has_children();
}

// --- What the supervisor wants ------------------------------------------------------------------

void Attempt::act(const StartWorkers& /*action*/) {
  boost::asio::post(io_, std::bind_front(&Attempt::on_start_turn, this));
}

void Attempt::act(const TellFailure& /*action*/) {
  on_failure(*failure());
}

void Attempt::act(const TellSuccess& action) {
  gang::Succeeded succeeded;
  succeeded.is_last = action.is_last;
  if (action.worker) {
    const WorkerPlan& planned = plan_.workers[*action.worker];
    // The gang is told about those that matter to it, not about thousands.
    const bool is_worth_telling =
        action.is_last || !success_was_told_ || planned.global_rank.value == 0;
    if (!is_worth_telling) {
      return;
    }
    success_was_told_ = true;
    succeeded.global_rank = planned.global_rank;
    succeeded.local_rank = planned.local_rank;
    succeeded.role = planned.role;
    succeeded.pid = workers_.pid(*action.worker);
    succeeded.run_time_seconds = workers_.run_time_seconds(*action.worker);
  }
  on_success(succeeded);
}

void Attempt::act(const CancelStart& /*action*/) {
  if (!start_was_cancelled_ && next_to_start_ < plan_.workers.size()) {
    start_was_cancelled_ = true;
    events_.emplace_back(WorkerNotStarted{next_to_start_, 0});
  }
}

void Attempt::act(const AskToEnd& action) {
  asked_with_ = action.signal;
  workers_.signal_all(action.signal);
  workers_.signal_all(SIGCONT);  // a stopped worker could not act on it
  const std::set<pid_t> living = workers_.living_pids();
  if (living.size() < next_to_start_ && Reaper::has_children()) {
    sweeper_.ask_to_end(sweeper_.leftovers(living), action.signal);
  }
  say_why_it_stops();
}

void Attempt::act(const EndLeftovers& /*action*/) {
  if (Reaper::has_children()) {
    const std::vector<Process> left = sweeper_.leftovers({});
    say_what_is_left(left);
    sweeper_.ask_to_end(left, asked_with_);
  }
}

void Attempt::act(const StartGrace& /*action*/) {
  grace_runs_ = true;
  grace_timer_.expires_after(grace_);
  grace_timer_.async_wait(std::bind_front(&Attempt::on_grace_ended, this));
  progress_timer_.expires_after(kProgressInterval);
  progress_timer_.async_wait(std::bind_front(&Attempt::on_progress, this));
}

void Attempt::on_progress(const ErrorCode& error) {
  if (error || supervisor_.is_finished()) {
    return;
  }
  say_who_is_awaited();
  progress_timer_.expires_after(kProgressInterval);
  progress_timer_.async_wait(std::bind_front(&Attempt::on_progress, this));
}

void Attempt::act(const KillEverything& /*action*/) {
  grace_runs_ = false;
  grace_timer_.cancel();
  progress_timer_.cancel();
  kill_deadline_ = Clock::now() + kKillLimit;
  kill_timer_.expires_at(Clock::now());
  kill_timer_.async_wait(std::bind_front(&Attempt::on_kill_round, this));
}

void Attempt::act(const Finish& /*action*/) {
  cancel();
  boost::asio::post(io_, std::bind_front(&Attempt::finish, this));
}

/// Every process has ended: what they wrote is read and shown, and only then is the attempt over.
void Attempt::finish() {
  if (is_over_) {
    return;
  }
  is_over_ = streams_.finish(std::bind_front(&Attempt::finish, this));
  waits_for_console_ = !is_over_;
  if (is_over_) {
    services_->stop();
    on_over();
  }
}

/// The worker that inherits standard input: the one that was chosen, else a single one. The chosen one
/// may be missing: as another node this one may have fewer workers than were expected.
std::optional<std::size_t> Attempt::reader_of_input() const {
  if (input_.options.stdin_rank) {
    const auto chosen = static_cast<std::size_t>(input_.options.stdin_rank->value);
    return chosen < plan_.workers.size() ? std::optional(chosen) : std::nullopt;
  }
  return plan_.workers.size() == 1 ? std::optional<std::size_t>(0) : std::nullopt;
}

// --- The start of a worker ----------------------------------------------------------------------

Result<> Attempt::start_worker(std::size_t worker) {
  if (worker == 0) {
    remove_old_error_files();
    if (auto started = services_->start(plan_); !started) {
      return started;
    }
  }
  const bool reads_input = reader_of_input() == worker;
  auto started = workers_.start(worker,
                                reads_input ? STDIN_FILENO : null_input_.get(),
                                reads_input ? terminal_.fd() : -1,
                                [this, worker](UniqueFd out, UniqueFd err) {
                                  return streams_.connect(worker, std::move(out), std::move(err));
                                });
  if (started) {
    streams_.note_start(worker, workers_.pid(worker));
    services_->on_worker_started(worker);
  }
  return started;
}

/// What a worker of an older attempt wrote must not be taken for the word of a new one.
void Attempt::remove_old_error_files() const {
  for (const WorkerPlan& worker : plan_.workers) {
    if (plan_.attempt > 0 && !worker.error_file.empty()) {
      (void)::unlink(worker.error_file.c_str());  // usually there is none
    }
  }
}

// --- What became of it --------------------------------------------------------------------------

std::vector<WorkerResult> Attempt::results() const {
  std::vector<WorkerResult> results;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    const WorkerPlan& planned = plan_.workers[i];
    results.push_back({.role = planned.role,
                       .global_rank = planned.global_rank,
                       .local_rank = planned.local_rank,
                       .outcome = supervisor_.outcome(i),
                       .pid = workers_.pid(i),
                       .status = supervisor_.status(i),
                       .run_time_seconds = workers_.run_time_seconds(i)});
  }
  return results;
}

std::optional<Failure> Attempt::failure() const {
  const Conclusion conclusion = supervisor_.conclusion();
  if (!conclusion.first_failure) {
    return std::nullopt;
  }
  const std::size_t worker = *conclusion.first_failure;
  const WorkerPlan& planned = plan_.workers[worker];
  Failure failure;
  failure.node = plan_.node_rank;
  failure.host = input_.options.host_name;
  failure.role = planned.role;
  failure.global_rank = planned.global_rank;
  failure.local_rank = planned.local_rank;
  failure.pid = workers_.pid(worker);
  failure.status = supervisor_.status(worker);
  failure.exit_code = conclusion.exit_code;
  failure.run_time_seconds = workers_.run_time_seconds(worker);
  failure.start_error = unstartable_ == worker ? start_error_ : "";
  failure.error_message = read_error_file(read_untrusted_file(planned.error_file, kErrorFileBytes));
  failure.last_lines = streams_.last_lines(worker);
  failure.knows_order = workers_.knows_order();
  failure.label = planned.label;
  return failure;
}

}  // namespace muster
