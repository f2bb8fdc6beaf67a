// The agent's event loop. What to do about an event is the supervisor's to decide; here is only what
// counts as one, such as that a signal's echo is no second request. Deaths are looked for before anything else that woke the loop is handled.
#include "job.hpp"

#include "run_folder.hpp"

#include <muster/base/text.hpp>
#include <muster/environment/marker.hpp>
#include <muster/logs/messages.hpp>

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace muster {
namespace {

constexpr std::chrono::seconds kClosedPipesDelay{1};
constexpr std::chrono::milliseconds kEchoOfAStop{100};
constexpr std::chrono::seconds kProgressInterval{10};

constexpr std::size_t kErrorFileBytes = std::size_t{1} << 20U;

double seconds_of(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::vector<bool> deciding_workers(const LaunchPlan& plan) {
  std::vector<bool> deciding;
  for (const WorkerPlan& worker : plan.workers) {
    deciding.push_back(worker.decides_success);
  }
  return deciding;
}

/// The value of the marker variable: behind an outer muster's, ours is added.
std::string worker_marker(const JobInput& input) {
  if (input.plan.is_transparent) {
    return {};
  }
  const auto outer = input.variables.find(kMarkerVariable);
  return outer == input.variables.end() ? input.marker : outer->second + ":" + input.marker;
}

/// The worker that inherits standard input: the one that was chosen, else a single one.
std::optional<std::size_t> reader_of_input(const JobInput& input) {
  if (input.options.stdin_rank) {
    return static_cast<std::size_t>(input.options.stdin_rank->value);
  }
  return input.plan.workers.size() == 1 ? std::optional<std::size_t>(0) : std::nullopt;
}

}  // namespace

Job::Job(const JobInput& input, GuardLink link)
    : input_(input),
      link_(std::move(link)),
      streams_(io_, input.plan, input.options, input.variables, input.log_folder),
      supervisor_(deciding_workers(input.plan)),
      workers_(
          input.plan, input.inherited, WorkerSurroundings{input.variables, worker_marker(input)}),
      sweeper_(::getpid()),
      terminal_(link_.guard, /*is_wanted=*/reader_of_input(input).has_value()),
      deaths_(io_),
      signals_(io_),
      lifeline_(io_),
      grace_timer_(io_),
      kill_timer_(io_),
      progress_timer_(io_),
      closed_pipes_timer_(io_),
      null_input_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

int Job::run() {
  for (const std::string& remark : input_.plan.remarks) {
    say_info(remark);
  }
  streams_.on_end = std::bind_front(&Job::on_output_end, this);
  const sigset_t signals = handled_signals();
  signals_.assign(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  deaths_.assign(::fcntl(workers_.reaper().ready_fd(), F_DUPFD_CLOEXEC, 3));
  lifeline_.assign(link_.lifeline.release());
  wait_for(lifeline_, &Job::on_guard_lost);
  wait_for(signals_, &Job::on_signals);
  wait_for(deaths_, &Job::on_deaths);
  carry_out(supervisor_.start());
  io_.run();
  return supervisor_.conclusion().exit_code;
}

// --- What wakes the loop ------------------------------------------------------------------------

void Job::wait_for(Descriptor& descriptor, void (Job::*handler)(const ErrorCode&)) {
  descriptor.async_wait(Descriptor::wait_read, std::bind_front(handler, this));
}

void Job::on_deaths(const ErrorCode& error) {
  if (error) {
    return;
  }
  collect_deaths();
  process();
  wait_for(deaths_, &Job::on_deaths);
}

void Job::on_signals(const ErrorCode& error) {
  if (error) {
    return;
  }
  collect_deaths();  // a worker that ended before the signal arrived ended by itself
  process();
  signalfd_siginfo info{};
  while (::read(signals_.native_handle(), &info, sizeof info) == sizeof info) {
    take_signal(static_cast<int>(info.ssi_signo));
  }
  process();
  wait_for(signals_, &Job::on_signals);
}

void Job::on_guard_lost(const ErrorCode& error) {
  if (error) {
    return;
  }
  if (supervisor_.is_finished()) {
    hurry();
    return;
  }
  collect_deaths();
  say_error("the guard (pid " + std::to_string(link_.guard) +
            ") was killed: killing every process of the job");
  events_.emplace_back(PartnerLost{});
  process();
}

void Job::on_grace_ended(const ErrorCode& error) {
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
void Job::on_kill_round(const ErrorCode& error) {
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
    kill_timer_.async_wait(std::bind_front(&Job::on_kill_round, this));
  }
}

void Job::on_closed_pipes(const ErrorCode& error) {
  closed_pipes_check_runs_ = false;
  if (error) {
    return;
  }
  collect_deaths();
  process();
  for (std::size_t i = 0; i < next_to_start_; ++i) {
    if (workers_.is_alive(i) && streams_.has_ended(i) && said_closed_pipes_.insert(i).second) {
      say_warning("rank " + to_string(input_.plan.workers[i].global_rank) +
                  " closed its standard output and error and runs on");
    }
  }
}

void Job::on_output_end(std::size_t worker) {
  if (closed_pipes_check_runs_ || !workers_.is_alive(worker) || !streams_.has_ended(worker)) {
    return;
  }
  // Usually it is about to end. If not, its user should know where its lines went.
  closed_pipes_check_runs_ = true;
  closed_pipes_timer_.expires_after(kClosedPipesDelay);
  closed_pipes_timer_.async_wait(std::bind_front(&Job::on_closed_pipes, this));
}

/// Starts one worker and comes back through the loop: with a thousand of them, a signal or a death
/// in between must not wait for the last.
void Job::on_start_turn() {
  if (start_was_cancelled_ || next_to_start_ == input_.plan.workers.size()) {
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
  if (is_said(Level::Debug)) {
    say_debug(describe_worker(worker) + " started: " + input_.plan.workers[worker].argv.front());
  }
  boost::asio::post(io_, std::bind_front(&Job::on_start_turn, this));
}

// --- From what happened to events ---------------------------------------------------------------

void Job::collect_deaths() {
  const std::vector<Death> deaths = workers_.reaper().collect();
  for (const Death& death : deaths) {
    workers_.note_end(death.worker);  // of all, before anything is asked about the living
  }
  const bool is_unasked = supervisor_.is_undisturbed();
  for (const Death& death : deaths) {
    if (is_said(Level::Debug)) {
      const std::vector<int> living = living_ranks();
      say_debug(describe_worker(death.worker) + " ended: " + death.status.describe() +
                (living.empty() ? "" : "; still running: ranks " + describe_ranges(living)));
    }
    if (terminal_.is_ours() && death.status.signal() == SIGINT) {
      // Ctrl-C on the terminal goes to the worker's group, not to us.
      events_.emplace_back(StopRequested{SIGINT});
    }
    events_.emplace_back(WorkerEnded{death.worker, death.status, is_unasked});
  }
}

void Job::take_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      collect_deaths();
      say_who_was_stopped();
      break;
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
      request_stop(signal);
      break;
    case SIGCONT:
      if (const auto reader = reader_of_input(input_); reader && workers_.is_alive(*reader)) {
        terminal_.lend_again(workers_.pid(*reader));
      }
      workers_.signal_all(signal);
      break;
    default:
      workers_.signal_all(signal);
  }
}

/// Whoever signals every process of a job (`timeout`, systemd, `pkill`) reaches the guard, which
/// passes it on, and us: that is one request, not a second one that means "now".
void Job::request_stop(int signal) {
  const bool is_echo = Clock::now() - last_stop_request_ < kEchoOfAStop;
  if (!is_echo && !input_.inherited.ignored_signals.contains(signal)) {
    last_stop_request_ = Clock::now();
    if (supervisor_.is_finished()) {
      hurry();
      return;
    }
    events_.emplace_back(StopRequested{signal});
  }
}

void Job::process() {
  while (!events_.empty() || is_nothing_left()) {
    const Event event = events_.empty() ? Event(NothingLeft{}) : events_.front();
    if (!events_.empty()) {
      events_.pop_front();
    }
    carry_out(supervisor_.on(event));
  }
}

void Job::carry_out(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    std::visit([this](const auto& wanted) { act(wanted); }, action);
  }
}

bool Job::is_nothing_left() const {
  return !supervisor_.has_living_workers() && !supervisor_.is_finished() && !Reaper::has_children();
}

// --- What the supervisor wants ------------------------------------------------------------------

void Job::act(const StartWorkers& /*action*/) {
  boost::asio::post(io_, std::bind_front(&Job::on_start_turn, this));
}

void Job::act(const CancelStart& /*action*/) {
  if (!start_was_cancelled_ && next_to_start_ < input_.plan.workers.size()) {
    start_was_cancelled_ = true;
    events_.emplace_back(WorkerNotStarted{next_to_start_, 0});
  }
}

void Job::act(const AskToEnd& action) {
  asked_with_ = action.signal;
  workers_.signal_all(action.signal);
  workers_.signal_all(SIGCONT);  // a stopped worker could not act on it
  const std::set<pid_t> living = workers_.living_pids();
  if (living.size() < next_to_start_ && Reaper::has_children()) {
    sweeper_.ask_to_end(sweeper_.leftovers(living), action.signal);
  }
  say_why_it_stops();
}

void Job::act(const EndLeftovers& /*action*/) {
  if (Reaper::has_children()) {
    const std::vector<Process> left = sweeper_.leftovers({});
    say_what_is_left(left);
    sweeper_.ask_to_end(left, asked_with_);
  }
}

void Job::act(const StartGrace& /*action*/) {
  grace_timer_.expires_after(input_.options.grace);
  grace_timer_.async_wait(std::bind_front(&Job::on_grace_ended, this));
  progress_timer_.expires_after(kProgressInterval);
  progress_timer_.async_wait(std::bind_front(&Job::on_progress, this));
}

void Job::act(const KillEverything& /*action*/) {
  grace_timer_.cancel();
  progress_timer_.cancel();
  kill_deadline_ = Clock::now() + kKillLimit;
  kill_timer_.expires_at(Clock::now());
  kill_timer_.async_wait(std::bind_front(&Job::on_kill_round, this));
}

void Job::act(const Finish& /*action*/) {
  grace_timer_.cancel();
  progress_timer_.cancel();
  kill_timer_.cancel();
  closed_pipes_timer_.cancel();
  boost::asio::post(io_, std::bind_front(&Job::conclude, this));
}

// --- The start of a worker ----------------------------------------------------------------------

Result<> Job::start_worker(std::size_t worker) {
  if (worker == 0) {
    if (auto written = write_planned_files(); !written) {
      return written;
    }
  }
  const bool reads_input = reader_of_input(input_) == worker;
  return workers_.start(worker,
                        reads_input ? STDIN_FILENO : null_input_.get(),
                        reads_input ? terminal_.fd() : -1,
                        [this, worker](UniqueFd out, UniqueFd err) {
                          return streams_.connect(worker, std::move(out), std::move(err));
                        });
}

Result<> Job::write_planned_files() const {
  for (const PlannedFile& planned : input_.plan.files) {
    const auto mode = static_cast<mode_t>(std::stoi(planned.mode, nullptr, 8));
    const UniqueFd file(
        ::open(planned.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, mode));
    const std::string& content = planned.content;
    if (!file || ::write(file.get(), content.data(), content.size()) !=
                     static_cast<ssize_t>(content.size())) {
      return system_error("cannot write '" + planned.path + "'", errno);
    }
  }
  return {};
}

// --- What the user should know ------------------------------------------------------------------

std::string Job::describe_worker(std::size_t worker) const {
  return "rank " + to_string(input_.plan.workers[worker].global_rank) + " (pid " +
         std::to_string(workers_.pid(worker)) + ")";
}

std::vector<int> Job::living_ranks() const {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < next_to_start_; ++i) {
    if (workers_.is_alive(i)) {
      ranks.push_back(input_.plan.workers[i].global_rank.value);
    }
  }
  return ranks;
}

std::string Job::describe_failure(std::size_t worker) const {
  if (unstartable_ == worker) {
    return "rank " + to_string(input_.plan.workers[worker].global_rank) + " could not be started";
  }
  return describe_worker(worker) + " failed (" + supervisor_.status(worker)->describe() + ")";
}

/// The wait may be long, so it is said at its start what happened and how long it can take.
void Job::say_why_it_stops() const {
  const std::size_t living = living_ranks().size();
  if (living == 0) {
    return;
  }
  const Conclusion conclusion = supervisor_.conclusion();
  std::string reason = "the workers that decide have ended";
  if (conclusion.first_failure) {
    reason = describe_failure(*conclusion.first_failure);
  } else if (conclusion.stop_signal) {
    reason = signal_name(*conclusion.stop_signal) + " received";
  }
  say_info(reason + ": asking " + count_of(living, "worker") + " to end (" +
           signal_name(asked_with_) + "), killing what is left after " +
           format_seconds(seconds_of(input_.options.grace)) + " s");
}

void Job::on_progress(const ErrorCode& error) {
  if (error || supervisor_.is_finished()) {
    return;
  }
  const std::vector<int> ranks = living_ranks();
  const double left = seconds_of(grace_timer_.expiry() - Clock::now());
  say_info(
      "waiting for " +
      (ranks.empty() ? "processes that workers left behind" : "ranks " + describe_ranges(ranks)) +
      " to end, " + format_seconds(left) + " s left");
  progress_timer_.expires_after(kProgressInterval);
  progress_timer_.async_wait(std::bind_front(&Job::on_progress, this));
}

void Job::say_what_is_left(const std::vector<Process>& left) {
  const bool is_success = supervisor_.conclusion().verdict == Verdict::Succeeded;
  if (left.empty() || !is_success || leftovers_were_said_) {
    return;
  }
  leftovers_were_said_ = true;
  const bool is_one = left.size() == 1;
  say_warning("all workers have ended, but " +
              (is_one ? std::string("1 process that they started is")
                      : std::to_string(left.size()) + " processes that they started are") +
              " left behind: " + describe_processes(left) + "; ending " + (is_one ? "it" : "them"));
}

void Job::say_who_was_stopped() {
  for (const Stopped& stopped : workers_.reaper().collect_stopped()) {
    if (terminal_.is_ours() && stopped.worker == reader_of_input(input_)) {
      terminal_.stop_guard();                // Ctrl-Z
    } else if (stopped.signal != SIGTSTP) {  // that one came through us
      say_warning(describe_worker(stopped.worker) + " was stopped by " +
                  signal_name(stopped.signal) + "; it goes on with 'kill -CONT " +
                  std::to_string(stopped.pid) + "'");
    }
  }
}

void Job::say_who_is_overdue() const {
  const double seconds = seconds_of(input_.options.grace);
  for (std::size_t i = 0; i < input_.plan.workers.size(); ++i) {
    if (workers_.is_alive(i)) {
      say_warning(describe_worker(i) + " did not end within " + format_seconds(seconds) + " s of " +
                  signal_name(asked_with_) + ": killing it");
    }
  }
}

// --- The end ------------------------------------------------------------------------------------

/// Every process has ended: what they wrote is read and shown, and only then is said what happened,
/// so that the report is the last thing on the console.
void Job::conclude() {
  if (!is_concluded_ && streams_.finish(std::bind_front(&Job::conclude, this))) {
    is_concluded_ = true;
    input_.conclude(make_outcome());
    leave();
  }
}

/// Only a slow console is waited for, and somebody will not wait: say what can be said, and go.
void Job::hurry() {
  streams_.abandon_consoles();
  if (!is_concluded_) {
    is_concluded_ = true;
    input_.conclude(make_outcome());
  }
  io_.stop();
}

void Job::leave() {
  if (streams_.are_consoles_settled(std::bind_front(&Job::leave, this))) {
    io_.stop();
  }
}

Outcome Job::make_outcome() {
  Outcome outcome;
  outcome.conclusion = supervisor_.conclusion();
  outcome.node_rank = input_.plan.node_rank;
  outcome.host_name = input_.options.host_name;
  outcome.knows_order = workers_.reaper().knows_order();
  outcome.run_time_seconds = seconds_of(Clock::now() - started_);
  for (std::size_t i = 0; i < input_.plan.workers.size(); ++i) {
    const WorkerPlan& planned = input_.plan.workers[i];
    outcome.workers.push_back({.role = planned.role,
                               .global_rank = planned.global_rank,
                               .local_rank = planned.local_rank,
                               .outcome = supervisor_.outcome(i),
                               .pid = workers_.pid(i),
                               .status = supervisor_.status(i),
                               .run_time_seconds = workers_.run_time_seconds(i)});
  }
  if (const auto failed = outcome.conclusion.first_failure) {
    FirstFailure failure;
    failure.worker = *failed;
    failure.start_error = unstartable_ == failed ? start_error_ : "";
    failure.last_lines = streams_.last_lines(*failed);
    failure.error_file =
        read_untrusted_file(input_.plan.workers[*failed].error_file, kErrorFileBytes);
    outcome.first_failure = std::move(failure);
  }
  outcome.remarks = streams_.describe_losses();
  return outcome;
}

}  // namespace muster
