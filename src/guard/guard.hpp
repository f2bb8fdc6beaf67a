#pragma once

// The guard process, its link to the agent, and the timer that ends an agent without a guard.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "gang/events.hpp"
#include "guard/agent_watchdog.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <set>
#include <string>

namespace muster {

/// The agent's link to the guard, its parent.
struct GuardLink {
  pid_t guard = -1;
  /// Readable (at end of file) when the guard has exited.
  UniqueFd lifeline;
  GuardSharedMemory& page;
  std::set<int> stop_signals;  ///< signals that ask for a stop; the guard gets them first
  /// Readable when the guard got such a signal (`GuardSignalNotifier`). A running guard has handled it. May be empty.
  UniqueFd notifier;
};

/// The guard's setup, apart from the agent's pid.
struct GuardSetup {
  std::string marker;
  std::set<int> stop_signals;     ///< stop requests; forwarded in addition to the signals that muster always handles
  std::set<int> ignored_signals;  ///< signals among them that are ignored: see `Inherited`
  std::chrono::milliseconds grace{};
  /// Keeps files of the ranks after the agent was killed, and returns their place. Both may be empty.
  std::function<std::string()> keep_evidence{};
};

/// Makes the guard poll the shared memory now: while no node depends on the agent, the guard sleeps.
void wake_guard(pid_t guard);

/// Sends SIGCONT to a stopped guard if a stop signal is pending for it, because a stopped guard forwards no signal. Reads
/// /proc. True: ask again, as one is pending for a guard that may stop yet: it neither is stopped nor traced by a debugger.
bool resume_stopped_guard(const GuardLink& link);

/// Forks. The *guard* keeps the pid that users see, forwards signals and waits; its child, the *agent*, runs `work`
/// and exits with its result. Each is a subreaper in a process group of its own, so that no signal to a group ends
/// both. If the agent is killed, the guard sends SIGKILL to all that is left of the job, and vice versa.
///
/// While other nodes depend on this one, and after a stop request, the guard watches the agent: a stuck one is killed
/// with all of the job (see `AgentWatchdog`).
///
/// The guard never signals children that it has for other reasons: those that existed before (of a shell that used
/// `exec`), and those that it adopts as a container's init, unless they carry the marker.
///
/// Returns the exit code in the guard. Does not return in the agent.
[[nodiscard]] Result<int> run_guarded(const GuardSetup& setup, const std::function<int(GuardLink)>& work);

/// Limits an agent that has lost its guard: normally its event loop notices and kills the job, but a loop that is
/// stuck reads nothing. From this call on, when the guard dies, the kernel kills this process after `timeout`, and
/// with it the workers, unless `feed_parent_death_timer` defers it. To be called once, in the agent. SIGPIPE, which
/// reports the death, ends nothing.
void arm_parent_death_timer(pid_t guard, std::chrono::seconds timeout = std::chrono::seconds(5));

/// Defers the end by this timer: the guard is dead, but the event loop of the agent turns.
void feed_parent_death_timer();

// Notification of signals sent to the guard.

/// Notifies a child of this process of each signal sent to this process, stopped or not, without polling. Without a
/// free descriptor it never notifies.
///
/// epoll(7) watches signals of the process that added the signalfd(2), whichever process waits. But whether the
/// descriptor is readable depends on the waiter's own pending signals. So the child keeps one signal pending for
/// ever.
struct GuardSignalNotifier {
  UniqueFd signals;   ///< must stay open
  UniqueFd notifier;  ///< readable in a child that called `listen`, once per signal

  /// To be called in the process whose signals count, before it forks.
  static GuardSignalNotifier of_this_process(const std::set<int>& signals);
  /// In the child: starts notifications. SIGXFSZ, which is blocked, stays pending.
  static void listen();
  /// Rearms the notification.
  static void rearm(int notifier);
};

// The agent's heartbeats to the guard, and its check of the guard.

/// Counterpart of `AgentWatchdog` in the agent. A beat is a store to memory; the guard is woken once for each lease.
class HeartbeatSender {
 public:
  /// The link outlives this.
  HeartbeatSender(boost::asio::io_context& io, GuardLink& link)
      : timer_(io), link_(link), signal_notifier_(io), sample_timer_(io) {}

  /// From now on, a stopped guard is continued when it gets a stop signal.
  void listen();

  /// The loop has turned; `lease` is what other nodes depend on.
  void renew(const gang::Lease& lease);
  /// A stop was requested: the guard expects beats from now on, with or without a lease.
  void start_heartbeats();
  /// The guard was killed: only the kernel's timer ends us if the loop is stuck.
  void continue_alone();

 private:
  void beat();
  void heartbeat_soon();
  void wait_for_notifier();
  void check_guard();

  Timer timer_;
  GuardLink& link_;
  boost::asio::posix::stream_descriptor signal_notifier_;
  Timer sample_timer_;
  bool is_leased_ = false;
  bool beats_ = false;
  bool is_alone_ = false;
};

}  // namespace muster
