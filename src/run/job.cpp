// The agent's event loop. It contains no policy: what to do about an event is the supervisor's to
// decide. Deaths are handled before anything else that woke the loop.
#include "job.hpp"

#include <muster/base/text.hpp>
#include <muster/environment/marker.hpp>
#include <muster/logs/messages.hpp>

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

namespace muster {
namespace {

constexpr std::chrono::milliseconds kKillRound{20};
/// After KILL a process disappears at once, unless it sits in an uninterruptible system call or
/// has very much memory to give back.
constexpr std::chrono::seconds kKillLimit{5};
constexpr std::chrono::seconds kClosedPipesDelay{1};
constexpr std::size_t kErrorFileBytes = std::size_t{64} << 10U;

bool is_same_file(int left, int right) {
  struct stat a {};
  struct stat b {};
  return ::fstat(left, &a) == 0 && ::fstat(right, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

std::vector<bool> deciding_workers(const LaunchPlan& plan) {
  std::vector<bool> deciding;
  for (const WorkerPlan& worker : plan.workers) {
    deciding.push_back(worker.decides_success);
  }
  return deciding;
}

std::string worker_marker(const JobInput& input) {
  if (input.plan.is_transparent) {
    return {};
  }
  const auto outer = input.variables.find(kMarkerVariable);
  return outer == input.variables.end() ? input.marker : outer->second + ":" + input.marker;
}

std::map<std::string, std::string> late_values(const JobInput& input) {
  std::map<std::string, std::string> values = {{"run_dir", input.run_folder}};
  if (input.port) {
    values["worker_port"] = std::to_string(input.port->number());
  }
  return values;
}

}  // namespace

Job::Job(const JobInput& input, GuardLink link)
    : input_(input),
      link_(std::move(link)),
      supervisor_(deciding_workers(input.plan)),
      workers_(input.plan, input.inherited,
               WorkerSurroundings{input.variables, worker_marker(input), late_values(input)}),
      sweeper_(::getpid()),
      output_(io_, input.plan.workers.size()),
      deaths_(io_),
      signals_(io_),
      lifeline_(io_),
      grace_timer_(io_),
      kill_timer_(io_),
      closed_pipes_timer_(io_),
      null_input_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      log_dir_(input.options.log_dir) {}

Job::~Job() {
  send_messages_to({});  // the console that took them goes with us
}

int Job::run() {
  set_up_consoles();
  for (const std::string& remark : input_.plan.remarks) {
    say_info(remark);
  }
  set_up_terminal();
  output_.on_remark = [](const std::string& remark) { say_warning(remark); };
  output_.on_end = [this](std::size_t worker) { on_output_end(worker); };
  const sigset_t signals = handled_signals();
  signals_.assign(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  deaths_.assign(::fcntl(workers_.reaper().ready_fd(), F_DUPFD_CLOEXEC, 3));
  lifeline_.assign(link_.lifeline.release());
  wait_for_guard();
  wait_for_signals();
  wait_for_deaths();
  carry_out(supervisor_.start());
  io_.run();
  give_terminal_back();
  return supervisor_.conclusion().exit_code;
}

// --- What woke the loop ---------------------------------------------------------------------

void Job::wait_for_deaths() {
  deaths_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (!error) {
      on_deaths();
      wait_for_deaths();
    }
  });
}

void Job::wait_for_signals() {
  signals_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (!error) {
      on_signals();
      wait_for_signals();
    }
  });
}

void Job::wait_for_guard() {
  lifeline_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (error) {
      return;
    }
    on_deaths();
    say_error("the guard (pid " + std::to_string(link_.guard) +
              ") was killed: killing every process of the job");
    handle(PartnerLost{});
  });
}

void Job::on_deaths() {
  for (const Death& death : workers_.reaper().collect()) {
    workers_.note_end(death.worker);
    if (!death.status.ok() && supervisor_.is_undisturbed()) {
      look_for_earlier_failure(death);
    }
    handle(WorkerEnded{death.worker, death.status});
  }
  check_whether_nothing_is_left();
}

/// What is behind a death that looks like the first failure.
void Job::look_for_earlier_failure(const Death& death) {
  if (terminal_ >= 0 && death.status.signal() == SIGINT) {
    handle(StopRequested{SIGINT});  // Ctrl-C on the terminal goes to the worker's group, not to us
    return;
  }
  for (std::size_t i = 0; i < next_to_start_; ++i) {
    if (workers_.is_alive(i) && is_dumping_core(workers_.pid(i))) {
      handle(WorkerIsFailing{i});
      return;
    }
  }
}

void Job::on_signals() {
  on_deaths();  // a worker that ended before the signal arrived ended by itself
  signalfd_siginfo info{};
  while (::read(signals_.native_handle(), &info, sizeof info) == sizeof info) {
    on_signal(static_cast<int>(info.ssi_signo));
  }
}

void Job::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      on_deaths();
      look_for_stopped_workers();
      break;
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
      if (!input_.inherited.ignored_signals.contains(signal)) {
        handle(StopRequested{signal});
      }
      break;
    case SIGCONT:
      if (terminal_ >= 0 && ::tcgetpgrp(terminal_) == ::getpgid(link_.guard)) {
        (void)::tcsetpgrp(terminal_, workers_.pid(0));  // the shell's `fg` meant the worker
      }
      workers_.signal_all(signal);
      break;
    default:
      workers_.signal_all(signal);
  }
}

void Job::on_output_end(std::size_t worker) {
  if (closed_pipes_check_runs_ || !workers_.is_alive(worker) || !output_.has_ended(worker)) {
    return;
  }
  // Usually it is about to end. If not, its user should know where its lines went.
  closed_pipes_check_runs_ = true;
  closed_pipes_timer_.expires_after(kClosedPipesDelay);
  closed_pipes_timer_.async_wait([this](const boost::system::error_code& error) {
    closed_pipes_check_runs_ = false;
    if (!error) {
      on_deaths();
      remark_closed_pipes();
    }
  });
}

// --- What the supervisor wants --------------------------------------------------------------

void Job::handle(const Event& event) { carry_out(supervisor_.on(event)); }

void Job::carry_out(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    std::visit([this](const auto& wanted) { act(wanted); }, action);
  }
}

void Job::act(const StartWorkers& /*action*/) {
  if (input_.options.selection.needs_files() && log_dir_.empty()) {
    const auto folder = input_.variables.find("TMPDIR");
    log_dir_ = make_temporary_folder(
        folder == input_.variables.end() ? "/tmp" : folder->second, "muster_logs");
    say_info("log files are in " + log_dir_);
  }
  start_next();
}

/// Starts one worker and comes back through the loop: with a thousand of them, a signal or a death
/// in between must not wait for the last.
void Job::start_next() {
  if (start_was_cancelled_ || next_to_start_ == input_.plan.workers.size()) {
    return;
  }
  const std::size_t worker = next_to_start_++;
  if (auto started = start_worker(worker); !started) {
    unstartable_ = worker;
    start_error_ = started.error().message;
    start_was_cancelled_ = true;
    handle(WorkerNotStarted{worker, started.error().exit_code()});
    check_whether_nothing_is_left();
    return;
  }
  boost::asio::post(io_, [this] { start_next(); });
}

void Job::act(const CancelStart& /*action*/) {
  if (start_was_cancelled_ || next_to_start_ == input_.plan.workers.size()) {
    return;
  }
  start_was_cancelled_ = true;
  // Through the loop: the supervisor must not be asked while it answers.
  boost::asio::post(io_, [this] {
    handle(WorkerNotStarted{next_to_start_, 0});
    check_whether_nothing_is_left();
  });
}

void Job::act(const AskToEnd& action) {
  asked_with_ = action.signal;
  workers_.signal_all(action.signal);
  workers_.signal_all(SIGCONT);  // a stopped worker could not act on it
  if (workers_.reaper().has_children() && workers_.living_pids().size() < next_to_start_) {
    sweeper_.ask_to_end(sweeper_.leftovers(workers_.living_pids()), action.signal);
  }
  for (std::size_t i = 0; i < next_to_start_; ++i) {
    if (workers_.is_alive(i)) {
      say_debug("waiting for " + describe_worker(i) + ", asked to end with " +
                signal_name(action.signal));
    }
  }
}

void Job::act(const EndLeftovers& /*action*/) {
  if (!Reaper::has_children()) {
    return;  // check_whether_nothing_is_left tells the supervisor
  }
  const std::vector<Process> left = sweeper_.leftovers({});
  const bool was_success = supervisor_.conclusion().verdict == Verdict::Succeeded;
  if (!left.empty() && was_success && !leftovers_were_said_) {
    leftovers_were_said_ = true;
    const std::string verb = left.size() == 1 ? "is" : "are";
    say_warning("all workers have ended, but " +
                (left.size() == 1 ? std::string("1 process") : std::to_string(left.size()) + " processes") +
                " that they started " + verb + " left behind: " + describe_processes(left) +
                "; ending " + (left.size() == 1 ? "it" : "them"));
  }
  sweeper_.ask_to_end(left, asked_with_ == 0 ? SIGTERM : asked_with_);
}

void Job::act(const StartGrace& /*action*/) {
  grace_timer_.expires_after(input_.options.grace);
  grace_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      on_deaths();
      remark_overdue_workers();
      handle(GraceEnded{});
    }
  });
}

void Job::act(const KillEverything& /*action*/) {
  grace_timer_.cancel();
  kill_deadline_ = Clock::now() + kKillLimit;
  on_kill_timer();
}

/// Killing races with forking, so it goes in rounds until nothing is left.
void Job::on_kill_timer() {
  const std::vector<Process> found = sweeper_.kill_round({});
  on_deaths();
  if (supervisor_.is_finished()) {
    return;
  }
  if (Clock::now() > kill_deadline_) {
    say_error("could not kill " + describe_processes(found) + "; leaving it behind");
    handle(GaveUpWaiting{});
    return;
  }
  kill_timer_.expires_after(kKillRound);
  kill_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      on_kill_timer();
    }
  });
}

void Job::act(const Finish& /*action*/) {
  grace_timer_.cancel();
  kill_timer_.cancel();
  closed_pipes_timer_.cancel();
  boost::asio::post(io_, [this] { try_to_conclude(); });
}

// --- The start of a worker ------------------------------------------------------------------

Result<> Job::start_worker(std::size_t worker) {
  if (worker == 0) {
    if (auto written = write_planned_files(); !written) {
      return written;
    }
  }
  return workers_.start(worker, standard_input_of(worker), terminal_for(worker),
                        [this, worker](UniqueFd out, UniqueFd err) {
                          return connect(worker, std::move(out), std::move(err));
                        });
}

Result<> Job::connect(std::size_t worker, UniqueFd out, UniqueFd err) {
  auto out_route = make_route(worker, /*is_error=*/false);
  if (!out_route) {
    return out_route.error();
  }
  auto err_route = make_route(worker, /*is_error=*/true);
  if (!err_route) {
    return err_route.error();
  }
  output_.add(std::move(out), std::move(*out_route));
  output_.add(std::move(err), std::move(*err_route));
  return {};
}

Result<StreamRoute> Job::make_route(std::size_t worker, bool is_error) const {
  const WorkerPlan& planned = input_.plan.workers[worker];
  const Selection& selection = input_.options.selection;
  const Destination destination =
      is_error ? selection.err(planned.local_rank) : selection.out(planned.local_rank);
  StreamRoute route;
  route.worker = worker;
  route.is_error = is_error;
  if (destination.console) {
    route.console = is_error || !out_console_ ? error_console_.get() : out_console_.get();
  }
  if (destination.file) {
    const std::string base =
        planned.log.starts_with('/') || !input_.options.log_dir.empty()
            ? planned.log
            : log_dir_ + "/" + planned.log;
    auto file = LogFile::create(base + (is_error ? ".err" : ".out"));
    if (!file) {
      return file.error();
    }
    route.file = std::move(*file);
  }
  const std::string prefix = prefix_of(worker, is_error);
  route.framer = LineFramer(prefix, /*whole_lines=*/!prefix.empty() || input_.plan.workers.size() > 1);
  return route;
}

std::string Job::prefix_of(std::size_t worker, bool is_error) const {
  const bool is_wanted = input_.options.prefix == When::Always ||
                         (input_.options.prefix == When::Auto && input_.plan.world_size > 1 &&
                          !input_.plan.is_transparent);
  if (!is_wanted) {
    return {};
  }
  const int rank = input_.plan.workers[worker].global_rank.value;
  const std::string node =
      input_.plan.nodes > 1 ? to_string(input_.plan.node_rank) + ":" : std::string();
  const std::string plain = "[" + node + std::to_string(rank) + "]";
  if (!may_colour(is_error ? STDERR_FILENO : STDOUT_FILENO, input_.options.colour, input_.variables)) {
    return plain + " ";
  }
  constexpr int kColours = 6;  // red to cyan, without black and white
  return "\x1b[3" + std::to_string(1 + rank % kColours) + "m" + plain + "\x1b[0m ";
}

int Job::standard_input_of(std::size_t worker) const {
  const LocalRank rank = input_.plan.workers[worker].local_rank;
  const bool is_chosen = input_.options.stdin_rank ? *input_.options.stdin_rank == rank
                                                   : input_.plan.workers.size() == 1;
  return is_chosen ? STDIN_FILENO : null_input_.get();
}

int Job::terminal_for(std::size_t worker) const {
  return standard_input_of(worker) == STDIN_FILENO ? terminal_ : -1;
}

/// On a terminal, a single worker is its foreground group: Ctrl-C, Ctrl-Z and a debugger's prompt
/// work as if muster were not there.
void Job::set_up_terminal() {
  const bool is_foreground = ::isatty(STDIN_FILENO) != 0 && input_.plan.workers.size() == 1 &&
                             ::tcgetpgrp(STDIN_FILENO) == ::getpgid(link_.guard);
  terminal_ = is_foreground ? STDIN_FILENO : -1;
}

void Job::give_terminal_back() const {
  if (terminal_ >= 0) {
    (void)::tcsetpgrp(terminal_, ::getpgid(link_.guard));
  }
}

Result<> Job::write_planned_files() const {
  for (const PlannedFile& planned : input_.plan.files) {
    const mode_t mode = static_cast<mode_t>(std::stoi(planned.mode, nullptr, 8));
    const UniqueFd file(
        ::open(planned.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    const std::string& content = planned.content;
    if (!file || ::write(file.get(), content.data(), content.size()) !=
                     static_cast<ssize_t>(content.size())) {
      return system_error("cannot write '" + planned.path + "'", errno);
    }
  }
  return {};
}

void Job::set_up_consoles() {
  const auto stall = input_.options.console_stall;
  error_console_ = std::make_unique<Console>(io_, STDERR_FILENO, "standard error", stall);
  if (!is_same_file(STDOUT_FILENO, STDERR_FILENO)) {
    out_console_ = std::make_unique<Console>(io_, STDOUT_FILENO, "standard output", stall);
  }
  for (Console* console : consoles()) {
    console->on_relief = [this] { output_.resume(); };
    console->on_remark = [](const std::string& remark) { say_warning(remark); };
  }
  send_messages_to([this](std::string_view line) { error_console_->write_message(line); });
  if (was_closed(STDOUT_FILENO) || (out_console_ && out_console_->is_broken())) {
    say_warning("standard output is closed, going on without it");
  }
}

// --- What the user should know --------------------------------------------------------------

std::string Job::describe_worker(std::size_t worker) const {
  return "rank " + to_string(input_.plan.workers[worker].global_rank) + " (pid " +
         std::to_string(workers_.pid(worker)) + ")";
}

void Job::look_for_stopped_workers() {
  for (const Stopped& stopped : workers_.reaper().collect_stopped()) {
    if (terminal_ >= 0 && stopped.signal != SIGSTOP) {
      // Ctrl-Z on the terminal: the shell waits for the guard, so it has to stop as well.
      (void)::kill(link_.guard, SIGSTOP);
    } else if (stopped.signal == SIGSTOP) {
      say_warning(describe_worker(stopped.worker) + " was stopped by " +
                  signal_name(stopped.signal) + "; it goes on with 'kill -CONT " +
                  std::to_string(stopped.pid) + "'");
    }
  }
}

void Job::remark_closed_pipes() {
  for (std::size_t i = 0; i < next_to_start_; ++i) {
    if (workers_.is_alive(i) && output_.has_ended(i) && said_closed_pipes_.insert(i).second) {
      say_warning("rank " + to_string(input_.plan.workers[i].global_rank) +
                  " closed its standard output and error and runs on");
    }
  }
}

void Job::remark_overdue_workers() {
  const double seconds = std::chrono::duration<double>(input_.options.grace).count();
  for (std::size_t i = 0; i < input_.plan.workers.size(); ++i) {
    if (workers_.is_alive(i)) {
      say_warning(describe_worker(i) + " did not end within " + format_seconds(seconds) + " s of " +
                  signal_name(asked_with_ == 0 ? SIGTERM : asked_with_) + ": killing it");
    }
  }
}

// --- The end ---------------------------------------------------------------------------------

void Job::check_whether_nothing_is_left() {
  if (!supervisor_.has_living_workers() && !supervisor_.is_finished() && !Reaper::has_children()) {
    handle(NothingLeft{});
  }
}

/// Every process has ended: read what they wrote, let it be written, and only then say what happened,
/// so that the report is the last thing on the console.
void Job::try_to_conclude() {
  if (is_concluded_) {
    return;
  }
  output_.drain();  // stops at a console that is congested
  if (!are_consoles_settled(&Job::try_to_conclude)) {
    return;
  }
  if (!is_output_closed_) {
    is_output_closed_ = true;
    output_.close();  // a pipe may be held open by somebody who is not ours
    try_to_conclude();  // the last partial lines are on their way
    return;
  }
  is_concluded_ = true;
  input_.conclude(make_outcome());
  end_when_settled();
}

void Job::end_when_settled() {
  if (are_consoles_settled(&Job::end_when_settled)) {
    io_.stop();
  }
}

std::vector<Console*> Job::consoles() const {
  std::vector<Console*> all = {error_console_.get()};
  if (out_console_) {
    all.push_back(out_console_.get());
  }
  return all;
}

bool Job::are_consoles_settled(void (Job::*next)()) {
  bool is_settled = true;
  for (Console* console : consoles()) {
    console->on_settled = {};
    if (!console->is_settled()) {
      is_settled = false;
      console->on_settled = [this, next] { boost::asio::post(io_, [this, next] { (this->*next)(); }); };
    }
  }
  return is_settled;
}

Outcome Job::make_outcome() {
  Outcome outcome;
  outcome.conclusion = supervisor_.conclusion();
  outcome.node_rank = input_.plan.node_rank;
  outcome.host_name = input_.options.host_name;
  outcome.knows_order = workers_.reaper().knows_order();
  outcome.run_time_seconds = std::chrono::duration<double>(Clock::now() - started_).count();
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
    failure.last_lines = output_.last_lines(*failed);
    failure.error_file = read_untrusted_file(workers_.error_file(*failed), kErrorFileBytes);
    outcome.first_failure = std::move(failure);
  }
  outcome.remarks = output_.describe_missing();
  for (Console* console : consoles()) {
    const std::uint64_t lines = console->is_stalled() ? console->abandon() : 0;
    if (lines > 0) {
      outcome.remarks.push_back(console->describe_dropped(lines));
    }
  }
  return outcome;
}

}  // namespace muster
