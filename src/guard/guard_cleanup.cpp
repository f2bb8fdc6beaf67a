// Kills what the agent has left, in rounds: docs/processes.md says why.
#include "guard/guard_cleanup.hpp"

#include "process/helper_process.hpp"
#include "process/programs.hpp"
#include "process/reaper.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <iterator>

namespace muster {
namespace {

/// True if a killed process will end as soon as it gets a CPU. False in uninterruptible sleep, which may never end,
/// and for a process that we may not kill.
bool will_die(const Process& process) {
  return process.state != 'D' && process.state != 'Z' && ::kill(process.pid, 0) == 0;
}

/// Children that have ended or cannot handle a signal any more.
std::set<pid_t> ended_children(pid_t parent) {
  std::set<pid_t> ended;
  for (const Process& process : read_processes()) {
    if (process.parent == parent && (is_dead(process) || is_exiting(process))) {
      ended.insert(process.pid);
    }
  }
  return ended;
}

/// Gives dying processes time to exit.
void pause_round() {
  (void)::poll(nullptr, 0, static_cast<int>(kKillRound.count()));
}

}  // namespace

PreexistingChildren GuardCleanup::find_preexisting_children() {
  siginfo_t info{};  // __WALL finds helper processes that hang, too: they exit without a signal (fork_helper())
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) {
    return {};  // no child at all, the usual case: no scan of /proc
  }
  PreexistingChildren earlier;
  for (const Process& process : read_processes()) {
    if (process.parent == ::getpid()) {
      earlier.pids.insert(process.pid);
    }
  }
  earlier.are_ours = !Reaper::has_children();  // this does not find children that exit without a signal
  return earlier;
}

/// True if every adopted child belongs to the job, whatever its environment.
bool GuardCleanup::adopts_only_ours() const {
  return ::getpid() != 1 && earlier_.are_ours;
}

/// True for a child of another job, if not excluded. The agent is a fork of us without a marker; reading its memory
/// might hang.
bool GuardCleanup::is_foreign(pid_t child) const {
  return !adopts_only_ours() && child != agent_ && !has_marker(child, marker_);
}

/// The helper processes, which `kill` leaves out: like the agent, they are forks without a marker.
std::set<pid_t> GuardCleanup::excluded() const {
  std::set<pid_t> excluded = page_.helpers();
  excluded.insert(earlier_.pids.begin(), earlier_.pids.end());
  if (adopts_only_ours()) {
    return excluded;
  }
  for (const Process& process : read_processes()) {
    const bool is_known = process.parent != ::getpid() || excluded.contains(process.pid);
    // Only our children: reading the environment of a process that hangs may hang, too.
    if (!is_known && is_foreign(process.pid)) {
      excluded.insert(process.pid);
    }
  }
  return excluded;
}

void GuardCleanup::send_stop_signal(int signal) const {
  const std::vector<Process> all = read_processes();
  const std::set<pid_t> helpers = page_.helpers();
  std::vector<Process> workers;
  std::ranges::copy_if(all, std::back_inserter(workers), [&](const Process& one) {
    return one.parent == agent_ && !helpers.contains(one.pid) && !is_dead(one);
  });
  if (!workers.empty()) {
    page_.note({signal, std::chrono::steady_clock::now(), ended_children(agent_)});
    std::vector<Process> programs = through_shells(workers, all, runs_shell);
    (void)take_unasked(programs, signal);
    (void)Sweeper(agent_).send_stop_signal(programs, signal);
  }
}

void GuardCleanup::kill_helpers(std::chrono::steady_clock::duration timeout) const {
  std::set<pid_t> left = page_.helpers();
  const auto end = std::chrono::steady_clock::now() + timeout;
  const auto find_ours = [this](pid_t pid) {
    auto process = find_process(pid);
    const bool is_ours = process && (process->parent == ::getpid() || process->parent == agent_);
    return is_ours ? std::move(process) : std::nullopt;  // otherwise the pid belongs to another process by now
  };
  const auto has_ended = [&](pid_t pid) {
    if (::waitpid(pid, nullptr, WNOHANG) == pid) {
      return true;
    }
    const auto process = find_ours(pid);  // a round may have reaped it, and the agent's children are not ours to reap
    return !process || process->state == 'Z';
  };
  std::erase_if(left, has_ended);
  while (!left.empty() && std::chrono::steady_clock::now() < end) {
    pause_round();
    std::erase_if(left, has_ended);
  }
  for (const pid_t helper : left) {
    if (find_ours(helper)) {
      (void)::kill(helper, SIGKILL);
    }
  }
}

std::vector<Process> GuardCleanup::kill(std::chrono::steady_clock::duration most_time) const {
  Sweeper sweeper(::getpid());
  sweeper.is_foreign = std::bind_front(&GuardCleanup::is_foreign, this);
  std::vector<Process> found;
  const auto end = std::chrono::steady_clock::now() + most_time;
  const auto end_if_runnable = end + kExtraTimeForRunnable;
  const auto may_go_on = [&] {
    const auto now = std::chrono::steady_clock::now();
    return now < end || (now < end_if_runnable && std::any_of(found.begin(), found.end(), will_die));
  };
  int rounds_without = 0;  // a scan may miss a process that forks meanwhile; two hardly do
  for (bool is_first = true; (is_first || may_go_on()) && rounds_without < 2 && Reaper::has_children();
       is_first = false) {
    found = sweeper.kill_round(excluded());
    std::erase_if(found, [this](const Process& process) { return process.pid == agent_; });
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    rounds_without = found.empty() ? rounds_without + 1 : 0;
    pause_round();
  }
  return Reaper::has_children() ? found : std::vector<Process>{};
}

}  // namespace muster
