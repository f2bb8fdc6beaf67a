// The guard: small on purpose, since it must not fail. It allocates nothing while the job goes well.
#include "guard/guard.hpp"

#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "environment/mounted_files.hpp"
#include "guard/guard_cleanup.hpp"
#include "process/descendants.hpp"
#include "process/guarantees.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"
#include "process/programs.hpp"
#include "process/timers.hpp"
#include "supervise/exit_status.hpp"
#include "supervise/job_end.hpp"

#include <boost/system/system_error.hpp>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <utility>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

/// Time to kill what a normal exit has left: the agent has waited for `kKillLimit` already.
constexpr std::chrono::seconds kGuardCleanup{1};

/// Time for helper processes to write output that a killed agent had read, as after any other end.
constexpr std::chrono::milliseconds kFileTimeout{1'200};
/// A shorter time, if the agent was stuck.
constexpr std::chrono::milliseconds kShortFileTimeout{200};

/// Reaps children until the agent is among them; then returns its wait status.
std::optional<int> reap_until(pid_t agent) {
  int status = 0;
  pid_t pid = 0;
  do {
    pid = ::waitpid(-1, &status, WNOHANG);
  } while (pid > 0 && pid != agent);
  return pid == agent ? std::optional(status) : std::nullopt;
}

/// Returns a pending signal without removing it; waits for one until `until`, if given. 0: none came.
int wait_for_signal(int signal_fd, const sigset_t& signals, std::optional<Clock::time_point> until) {
  timespec time{};
  if (until) {
    const auto left = std::max<Clock::duration>(*until - Clock::now(), Clock::duration::zero());
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
    time = {whole.count(), std::chrono::nanoseconds(left - whole).count()};
  }
  pollfd ready{signal_fd, POLLIN, 0};
  (void)::ppoll(&ready, 1, until ? &time : nullptr, nullptr);
  sigset_t pending;
  ::sigpending(&pending);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (sigismember(&signals, signal) == 1 && sigismember(&pending, signal) == 1) {
      return signal;
    }
  }
  return 0;
}

/// Samples an agent whose beat is late.
ProcessSample see(pid_t agent) {
  const auto process = find_process(agent);
  if (!process) {
    return {};  // no sign of life
  }
  static const long ticks_in_second = ::sysconf(_SC_CLK_TCK);
  constexpr long kMilliseconds = 1'000;
  const auto cpu = static_cast<long>(process->cpu_ticks) * kMilliseconds / ticks_in_second;
  const bool is_stopped = process->state == 'T' || process->state == 't';
  return {.may_move = !is_stopped, .waits_for_core = process->state == 'R', .cpu = std::chrono::milliseconds(cpu)};
}

/// Says where the agent hangs: " (state D in folio_wait_bit_common)". Only root may read the function.
std::string describe_stand(pid_t agent) {
  const auto process = find_process(agent);
  if (!process) {
    return {};
  }
  std::string place;
  std::ifstream("/proc/" + std::to_string(agent) + "/wchan") >> place;
  const bool is_known = !place.empty() && place != "0";
  return std::string(" (state ") + process->state + (is_known ? " in " + place : "") + ")";
}

/// Takes the terminal back from a process group that has ended.
void take_terminal_back() {
  if (is_terminal(STDIN_FILENO)) {
    take_terminal_from_exited(STDIN_FILENO, ::getpgrp());
  }
}

/// Describes the result of the cleanup; follows the message about its reason.
std::string describe_sweep(const std::vector<Process>& left, const std::string& swept) {
  return left.empty() ? swept : "; could not kill " + describe_processes(left);
}

/// The guard process.
class Guard {
 public:
  Guard(pid_t agent, const GuardSetup& setup, UniqueFd signals_fd, GuardSharedMemory& page, PreexistingChildren earlier)
      : agent_(agent),
        setup_(setup),
        signals_(handled_signals(setup.stop_signals)),
        signalfd_(std::move(signals_fd)),
        page_(page),
        watch_(setup.grace, [agent] { return see(agent); }),
        sweep_(agent, setup.marker, page) {
    sweep_.exclude(std::move(earlier));
  }

  /// Returns the exit code of the job.
  int run();

 private:
  std::optional<int> wait_for_agent();
  void take(int signal);
  void pass_on(int signal);
  int take_over();
  int end_after(const ExitStatus& status);
  std::string describe_kept() const;

  pid_t agent_;
  const GuardSetup& setup_;
  sigset_t signals_;
  UniqueFd signalfd_;
  GuardSharedMemory& page_;
  AgentWatchdog watch_;
  GuardCleanup sweep_;
  SignalDebounce stop_debounce_;
  int asked_by_ = SIGTERM;
};

int Guard::run() {
  const auto status = wait_for_agent();
  return status ? end_after(ExitStatus::from_wait_status(*status)) : take_over();
}

/// Forwards signals and reaps orphans until the agent has ended; empty: the watchdog has given it up.
std::optional<int> Guard::wait_for_agent() {
  while (true) {
    if (const auto status = reap_until(agent_)) {
      return status;
    }
    const auto act = watch_.check(page_.heartbeat(), Clock::now());
    if (act == AgentWatchdog::Act::KillJob) {
      return std::nullopt;
    }
    if (act == AgentWatchdog::Act::AskWorkers) {
      sweep_.send_stop_signal(asked_by_);
    }
    if (const int signal = wait_for_signal(signalfd_.get(), signals_, watch_.next_poll()); signal > 0) {
      take(signal);
    }
  }
}

/// Forwards a signal, then removes it: if the guard is stopped in between, the agent learns of the pending one.
void Guard::take(int signal) {
  if (signal != SIGCHLD) {  // SIGCHLD: a child has ended, or the agent called `wake_guard`
    pass_on(signal);
  }
  // Removes a pending signal, so that it can arrive again.
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  const timespec at_once{};
  (void)::sigtimedwait(&one, nullptr, &at_once);
  if (signal == SIGTSTP) {
    (void)::raise(SIGSTOP);  // so that the shell gets its terminal back; SIGCONT is forwarded as well
  }
}

void Guard::pass_on(int signal) {
  (void)::kill(agent_, signal);
  const bool asks = setup_.stop_signals.contains(signal) && !setup_.ignored_signals.contains(signal);
  if (asks && stop_debounce_.is_new(signal)) {
    asked_by_ = signal;
    watch_.on_stop_asked(Clock::now(), is_from_keyboard(signal));
  }
}

int Guard::end_after(const ExitStatus& status) {
  if (status.code()) {
    (void)sweep_.kill(kGuardCleanup);  // returns at once without children, the usual case
    sweep_.kill_helpers({});           // the agent has waited for them already
    return *status.code();
  }
  const std::vector<Process> left = sweep_.kill(kKillLimit);
  sweep_.kill_helpers(kFileTimeout);
  take_terminal_back();
  print_fatal("the agent (pid " + std::to_string(agent_) + ") was ended by " + status.describe() +
              describe_sweep(left, "; every process of the job was killed") + describe_kept());
  return status.shell_code();
}

/// Says what was kept of the ranks' files; nothing after success.
std::string Guard::describe_kept() const {
  const bool is_wanted = setup_.keep_evidence && page_.decided() != 0;
  const std::string kept = is_wanted ? setup_.keep_evidence() : "";
  return kept.empty() ? "" : "; what the ranks wrote about their end is in " + kept;
}

/// Ends a job whose agent is stuck, without a wait for the agent. Returns the exit code if one was decided.
int Guard::take_over() {
  const std::string stand = describe_stand(agent_);
  (void)::kill(agent_, SIGKILL);
  const std::vector<Process> left = sweep_.kill(kKillLimit);
  sweep_.kill_helpers(kShortFileTimeout);
  take_terminal_back();
  print_fatal("the agent (pid " + std::to_string(agent_) + ") " + watch_.why() + stand +
              describe_sweep(left, ": killed every process of the job") + describe_kept());
  return page_.decided().value_or(exit_code_of(EndKind::Lost));
}

/// "epoll: Operation not permitted", without the error number and source location that follow.
std::string describe(const boost::system::system_error& error) {
  const std::string whole = error.what();
  return whole.substr(0, whole.find(" [" + error.code().to_string()));
}

/// Lets no exception leave the agent: the frames above belong to the guard.
int run_work(const auto& work, GuardLink link) {
  try {
    return work(std::move(link));
  } catch (const boost::system::system_error& error) {  // Asio, if it cannot make its descriptors
    print_fatal("cannot run the job: " + describe(error));
    return Error{ErrorKind::System, {}}.exit_code();
  } catch (const std::exception& error) {
    print_fatal(std::string("internal error: ") + error.what());
    constexpr int kBug = 70;
    return kBug;
  }
}

[[noreturn]] void be_agent(GuardLink link, const auto& work) {
  const pid_t guard = link.guard;
  (void)::setpgid(0, 0);
  arm_parent_death_timer(guard);
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited by fork; a refusal was logged before
  GuardSignalNotifier::listen();
  const int exit_code = run_work(work, std::move(link));
  if (::getppid() == guard) {
    (void)::kill(guard, SIGCONT);  // continues a guard that was stopped: the job is over
  }
  ::_exit(exit_code);
}

}  // namespace

void wake_guard(pid_t guard) {
  if (::getppid() == guard) {  // after its death the pid may belong to another process
    (void)::kill(guard, SIGCHLD);
  }
}

bool resume_stopped_guard(const GuardLink& link) {
  const auto status = read_fields("/proc/" + std::to_string(link.guard) + "/status");
  const std::string state = value_at(status, "State");
  const bool is_stopped = state.starts_with('T');
  const bool is_held = state.starts_with('t');  // traced by a debugger
  const bool is_asked = std::ranges::any_of(link.stop_signals, [&](int signal) {
    return has_signal(status, {"SigPnd", "ShdPnd"}, signal);
  });
  if (is_stopped && is_asked && ::getppid() == link.guard) {
    (void)::kill(link.guard, SIGCONT);
  }
  return is_asked && !is_stopped && !is_held;
}

Result<int> run_guarded(const GuardSetup& setup, const std::function<int(GuardLink)>& work) {
  take_over_signals(setup.stop_signals);
  auto lifeline = TRY(make_pipe());
  const auto page = TRY(GuardSharedMemory::make());
  if (const auto tried = probe_event_loop(); !tried) {
    return Error{ErrorKind::System, "cannot run the job: " + tried.error().message};
  }
  PreexistingChildren earlier = GuardCleanup::find_preexisting_children();
  // Logs once, before anything is started, which guarantees cannot be kept on this system.
  for (const Guarantee& guarantee : guarantees(probe_before_start())) {
    if (guarantee.hold == Support::Not) {
      log_warning(guarantee.warning());
    }
  }
  if (is_logged(Level::Debug)) {
    log_debug(describe(guarantees(probe_system())));
  }
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);

  const sigset_t signals = handled_signals(setup.stop_signals);
  UniqueFd signal_fd(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signal_fd) {
    return system_error("cannot make a descriptor for signals", errno);
  }
  GuardSignalNotifier notifier = GuardSignalNotifier::of_this_process(setup.stop_signals);
  const pid_t guard = ::getpid();
  const pid_t agent = ::fork();
  if (agent < 0) {
    return system_error("cannot start the agent: making a process", errno);
  }
  if (agent == 0) {
    signal_fd.reset();
    lifeline.write.reset();  // only the guard holds it: when it exits, the pipe ends
    be_agent({guard, std::move(lifeline.read), *page, setup.stop_signals, std::move(notifier.notifier)}, work);
  }
  (void)::setpgid(agent, agent);
  lifeline.read.reset();
  set_log_sink({});  // messages buffered until here are the agent's to write
  return Guard(agent, setup, std::move(signal_fd), *page, std::move(earlier)).run();
}

// Parent-death timer: a signal handler, because the loop that should read the signal may be stuck; and a kernel timer
// with SIGKILL, because nothing that runs in a broken process is reliable.

namespace {

/// Global, because a signal handler has to see it.
struct End {
  pid_t guard = -1;
  pid_t agent = -1;  ///< -1: no timer
  timer_t timer{};
  itimerspec later{};
};
End end_of_agent;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): see above

bool end_is_set() {
  itimerspec left{};
  (void)::timer_gettime(end_of_agent.timer, &left);
  return left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0;
}

/// Called for SIGPIPE: from the kernel when the guard dies, or from a pipe without readers. Forked copies of the
/// agent have no timer.
extern "C" void on_pipe_signal(int /*signal*/) {
  const int error_number = errno;
  if (::getpid() == end_of_agent.agent && ::getppid() != end_of_agent.guard && !end_is_set()) {
    feed_parent_death_timer();  // once: later signals come from pipes, and must not let a stuck agent defer its end
  }
  errno = error_number;
}

}  // namespace

void arm_parent_death_timer(pid_t guard, std::chrono::seconds timeout) {
  sigevent kill{};
  kill.sigev_notify = SIGEV_SIGNAL;
  kill.sigev_signo = SIGKILL;
  if (::timer_create(CLOCK_MONOTONIC, &kill, &end_of_agent.timer) != 0) {
    return;  // the event loop remains
  }
  end_of_agent.later.it_value.tv_sec = timeout.count();
  end_of_agent.guard = guard;
  end_of_agent.agent = ::getpid();
  struct sigaction action {};
  action.sa_handler = &on_pipe_signal;
  action.sa_flags = SA_RESTART;
  (void)::sigaction(SIGPIPE, &action, nullptr);
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  (void)::pthread_sigmask(SIG_UNBLOCK, &pipe_signal, nullptr);
  (void)::prctl(PR_SET_PDEATHSIG, SIGPIPE);  // a refusal was logged before
  if (::getppid() != guard) {
    feed_parent_death_timer();  // the guard died before
  }
}

void feed_parent_death_timer() {
  if (end_of_agent.agent == ::getpid()) {
    (void)::timer_settime(end_of_agent.timer, 0, &end_of_agent.later, nullptr);
  }
}

// The signal kept pending: muster blocks it, no option can name it, and the kernel sends it only for failed writes.

namespace {

constexpr int kKept = SIGXFSZ;

}  // namespace

GuardSignalNotifier GuardSignalNotifier::of_this_process(const std::set<int>& signals) {
  sigset_t heard;
  sigemptyset(&heard);
  sigaddset(&heard, kKept);
  for (const int signal : signals) {
    sigaddset(&heard, signal);
  }
  GuardSignalNotifier made{UniqueFd(::signalfd(-1, &heard, SFD_NONBLOCK | SFD_CLOEXEC)),
                           UniqueFd(::epoll_create1(EPOLL_CLOEXEC))};
  epoll_event once_each{};
  once_each.events = EPOLLIN | EPOLLET;
  if (::epoll_ctl(made.notifier.get(), EPOLL_CTL_ADD, made.signals.get(), &once_each) != 0) {
    made.notifier.reset();
  }
  return made;
}

void GuardSignalNotifier::listen() {
  (void)::kill(::getpid(), kKept);
}

void GuardSignalNotifier::rearm(int notifier) {
  epoll_event rung{};
  (void)::epoll_wait(notifier, &rung, 1, 0);
}

// Heartbeats show that the event loop turns: see guard/agent_watchdog.hpp.

void HeartbeatSender::renew(const gang::Lease& lease) {
  link_.page.renew(lease, Clock::now());
  const bool is_leased = lease.limit.has_value();
  if (!std::exchange(is_leased_, is_leased) && is_leased) {
    wake_guard(link_.guard);  // it sleeps while no node depends on us
  }
}

void HeartbeatSender::listen() {
  if (link_.notifier) {
    signal_notifier_.assign(link_.notifier.release());
    wait_for_notifier();
  }
}

void HeartbeatSender::wait_for_notifier() {
  using Descriptor = boost::asio::posix::stream_descriptor;
  signal_notifier_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (!error) {
      GuardSignalNotifier::rearm(signal_notifier_.native_handle());
      check_guard();
      wait_for_notifier();
    }
  });
}

/// Checks again, because the guard may be about to read the signal, or about to stop.
void HeartbeatSender::check_guard() {
  constexpr std::chrono::milliseconds kMoment{100};
  if (!resume_stopped_guard(link_)) {
    return;
  }
  sample_timer_.start(kMoment, [this] { check_guard(); });
}

void HeartbeatSender::start_heartbeats() {
  if (!std::exchange(beats_, true)) {
    heartbeat_soon();
  }
}

void HeartbeatSender::continue_alone() {
  is_alone_ = true;
  feed_parent_death_timer();
  start_heartbeats();
}

void HeartbeatSender::beat() {
  link_.page.beat(Clock::now());
  if (is_alone_) {
    feed_parent_death_timer();
  }
}

void HeartbeatSender::heartbeat_soon() {
  timer_.start(AgentWatchdog::kTimeToAnswer / 4, [this] {
    beat();
    heartbeat_soon();
  });
}

}  // namespace muster
