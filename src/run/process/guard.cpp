// The guard: small on purpose, for it must not fail. It allocates nothing while the job runs.
#include "guard.hpp"

#include "reaper.hpp"
#include "sweeper.hpp"
#include "terminal.hpp"

#include <muster/logs/messages.hpp>
#include <muster/run/guarantees.hpp>
#include <muster/run/inherited.hpp>
#include <muster/supervise/exit_status.hpp>

#include <boost/system/system_error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace muster {
namespace {

/// An agent that has ended by itself has waited for `kKillLimit` already.
constexpr std::chrono::seconds kLastSweep{1};

/// What the guard knows of the job.
struct Job {
  const std::set<pid_t>& had_before;  ///< children that are not the job's
  const std::string& marker;
  const SharedPage& page;
};

/// Children that we had before we made any: `exec muster` keeps those of the shell.
std::set<pid_t> children_of_others() {
  if (!Reaper::has_children()) {
    return {};  // no child at all: the usual case, and no look at /proc
  }
  std::set<pid_t> children;
  for (const Process& process : read_processes()) {
    if (process.parent == ::getpid()) {
      children.insert(process.pid);
    }
  }
  return children;
}

void pass_on(int signal, pid_t agent) {
  (void)::kill(agent, signal);
  if (signal == SIGTSTP) {
    (void)::raise(SIGSTOP);  // the shell gets its terminal back; CONT is passed on as well
  }
}

/// Buries children until the agent is among them; returns its wait status then.
std::optional<int> bury_until(pid_t agent) {
  int status = 0;
  pid_t pid = 0;
  do {
    pid = ::waitpid(-1, &status, WNOHANG);
  } while (pid > 0 && pid != agent);
  return pid == agent ? std::optional(status) : std::nullopt;
}

/// Waits until the agent has ended, passing signals on. Buries orphans on the way.
int wait_for_agent(pid_t agent, const sigset_t& signals) {
  while (true) {
    if (const auto status = bury_until(agent)) {
      return *status;
    }
    const int signal = ::sigwaitinfo(&signals, nullptr);
    if (signal > 0 && signal != SIGCHLD) {
      pass_on(signal, agent);
    }
  }
}

/// Which of our children are not the job's. As the first process we adopt every orphan of the
/// container, so only the marker tells.
std::set<pid_t> strangers(const std::set<pid_t>& had_before, const std::string& marker) {
  std::set<pid_t> found = had_before;
  if (::getpid() != 1 && had_before.empty()) {
    return found;
  }
  for (const Process& process : read_processes()) {
    if (process.parent == ::getpid() && !has_marker(process.pid, marker)) {
      found.insert(process.pid);
    }
  }
  return found;
}

void bury_all() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

/// They may hang in a file for good, and nobody waits for them.
void kill_asides(const std::set<pid_t>& asides) {
  for (const pid_t pid : asides) {
    (void)::kill(pid, SIGKILL);  // not buried before it was taken off the page
  }
}

/// KILLs what the agent left, in rounds, until nothing is left or it cannot be killed. Returns what
/// could not.
std::vector<Process> sweep(const Job& job, std::chrono::steady_clock::duration most_time) {
  const std::set<pid_t> asides = job.page.asides();
  kill_asides(asides);
  Sweeper sweeper(::getpid());
  std::vector<Process> found;
  const auto end = std::chrono::steady_clock::now() + most_time;
  int rounds_without = 0;  // one listing may miss a process that forks meanwhile; two hardly do
  while (std::chrono::steady_clock::now() < end && rounds_without < 2 && Reaper::has_children()) {
    std::set<pid_t> spared = strangers(job.had_before, job.marker);
    spared.insert(asides.begin(), asides.end());
    found = sweeper.kill_round(spared);
    bury_all();
    rounds_without = found.empty() ? rounds_without + 1 : 0;
    (void)::poll(
        nullptr, 0, static_cast<int>(kKillRound.count()));  // the dying need a moment to be gone
  }
  return Reaper::has_children() ? found : std::vector<Process>{};
}

/// The terminal must not stay with a group that is gone.
void take_terminal_back() {
  if (::isatty(STDIN_FILENO) != 0) {
    take_terminal_from_the_dead(STDIN_FILENO, ::getpgrp());
  }
}

int guard(pid_t agent, const sigset_t& signals, const Job& job) {
  const ExitStatus status = ExitStatus::from_wait_status(wait_for_agent(agent, signals));
  if (status.code()) {
    (void)sweep(job, kLastSweep);  // looks at nothing when no child is left, the usual case
    return *status.code();
  }
  const std::vector<Process> left = sweep(job, kKillLimit);
  take_terminal_back();
  say_error("the agent (pid " + std::to_string(agent) + ") was ended by " + status.describe() +
            (left.empty() ? std::string("; every process of the job was killed")
                          : "; could not kill " + describe_processes(left)));
  return status.shell_code();
}

/// The one place where it is said which guarantees this system takes away: once, before anything is started.
void say_what_is_lost() {
  for (const Guarantee& guarantee : guarantees(ask_before_start())) {
    if (guarantee.hold == Hold::Not) {
      say_warning(guarantee.warning());
    }
  }
  if (is_said(Level::Debug)) {
    say_debug(describe(guarantees(ask_system())));
  }
}

/// "epoll: Operation not permitted", without the number and the place in a library that follow.
std::string describe(const boost::system::system_error& error) {
  const std::string whole = error.what();
  return whole.substr(0, whole.find(" [" + error.code().to_string()));
}

/// Nothing may leave the agent but an exit code: above it is the code that the guard runs.
int work_safely(const std::function<int(GuardLink)>& work, GuardLink link) {
  try {
    return work(std::move(link));
  } catch (
      const boost::system::system_error& error) {  // Asio, when it cannot even make its descriptors
    say_error("cannot run the job: " + describe(error));
    return Error{ErrorKind::System, {}}.exit_code();
  } catch (const std::exception& error) {
    say_error(std::string("internal error: ") + error.what());
    constexpr int kBug = 70;
    return kBug;
  }
}

}  // namespace

Result<int> run_guarded(const std::string& marker,
                        const std::set<int>& stop_signals,
                        const std::function<int(GuardLink)>& work) {
  take_over_signals(stop_signals);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return system_error("cannot make a pipe", errno);
  }
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const auto page = SharedPage::make();
  if (!page) {
    return page.error();
  }
  const std::set<pid_t> had_before = children_of_others();
  say_what_is_lost();
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);

  const pid_t guard_pid = ::getpid();
  const pid_t agent = ::fork();
  if (agent < 0) {
    return system_error("cannot start the agent: making a process", errno);
  }
  if (agent == 0) {
    write_end.reset();  // only the guard holds it: its end is the guard's end
    (void)::setpgid(0, 0);
    (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited by fork; what is refused was said
    ::_exit(work_safely(work, GuardLink{guard_pid, std::move(read_end), **page}));
  }
  (void)::setpgid(agent, agent);
  read_end.reset();
  return guard(agent, handled_signals(stop_signals), Job{had_before, marker, **page});
}

}  // namespace muster
