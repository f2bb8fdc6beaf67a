#pragma once

// What ends an agent that has no guard any more and whose loop does not turn.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "gang/events.hpp"
#include "guard/agent_watchdog.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace muster {

/// What the agent must know about the guard, its parent.
struct GuardLink {
  pid_t guard = -1;
  /// Readable (at its end) when the guard is gone.
  UniqueFd lifeline;
  GuardSharedMemory& page;
  std::set<int> stop_signals;  ///< of which it hears first
  /// Readable when the guard was sent one (`GuardSignalNotifier`), which it has heard unless it is stopped. May be empty.
  UniqueFd notifier;
};

/// What the guard must know of the job, besides who the agent is.
struct GuardSetup {
  std::string marker;
  std::set<int> stop_signals;     ///< they ask the job to end; passed on besides those that muster always handles
  std::set<int> ignored_signals;  ///< of these, without effect: see `Inherited`
  std::chrono::milliseconds grace{};
};

/// Has the guard look at the page now; it sleeps while nobody counts on the agent.
void wake_guard(pid_t guard);

/// A guard that is stopped passes on no signal. Where one that asks for the end waits for it, it is sent CONT. Reads /proc.
/// Returns true where such a signal waits for a guard that is neither stopped, or not yet, nor held by a debugger.
[[nodiscard]] bool resume_stopped_guard(const GuardLink& link);

/// Splits the process in two. The *guard* keeps the pid that users see, passes signals on and
/// waits; its child, the *agent*, runs `work` and ends with what it returns. Each is a subreaper
/// in a process group of its own, so that no signal to a group ends both. When the agent is
/// killed the guard KILLs all that is left of the job; the agent does the same when the guard is.
///
/// Where others count on this node, and once the job was asked to end, the guard watches the agent: one that does not move
/// is killed with all of the job (see `AgentWatchdog`).
///
/// Processes that are the guard's children for other reasons are never signalled: those that it
/// had before (a shell that used `exec`), and those that it adopts as a container's first process,
/// unless they carry the marker.
///
/// Returns the exit code in the guard. The agent does not return.
[[nodiscard]] Result<int> run_guarded(const GuardSetup& setup, const std::function<int(GuardLink)>& work);

/// An agent whose guard was killed reads that in its loop, and kills the job. One that turns without end reads nothing.
/// From here on, when the guard dies, the kernel kills this process so much later, and with it the workers, unless it puts
/// that off. To be called once, in the agent. SIGPIPE, which tells it, ends nothing.
void arm_parent_death_timer(pid_t guard, std::chrono::seconds patience = std::chrono::seconds(5));

/// The guard is gone, and the loop turns.
void feed_parent_death_timer();

// Hearing of another process's signals.

/// Rings in a child of this process whenever a signal is sent to this one, be it stopped or not, without that
/// anybody looks in between. Where the system refuses a descriptor it never rings.
///
/// epoll(7) knows whose signals a descriptor of signalfd(2) was added for: those of the process that added it,
/// whoever waits. Whether there is something to read, though, is asked of who waits. So a child keeps a signal of
/// its own for ever.
struct GuardSignalNotifier {
  UniqueFd signals;   ///< has to stay open
  UniqueFd notifier;  ///< readable in a child that listens, once for each time that it rings

  /// In the process whose signals are meant, before it forks.
  [[nodiscard]] static GuardSignalNotifier of_this_process(const std::set<int>& signals);
  /// In the child: from here on it hears. SIGXFSZ, which is blocked, stays pending.
  static void listen();
  /// So that the bell can ring again.
  static void silence(int notifier);
};

// What an agent shows its guard, and what it sees of it.

/// The agent's part of `AgentWatchdog`. A beat is a store to memory; the guard is woken once for each lease.
class HeartbeatSender {
 public:
  /// The link outlives it.
  HeartbeatSender(boost::asio::io_context& io, GuardLink& link)
      : timer_(io), link_(link), signal_notifier_(io), sample_timer_(io) {}

  /// From here on a guard that is stopped hears of what it is sent.
  void listen();

  /// The loop has turned, and this is what other nodes count on.
  void renew(const gang::Lease& lease);
  /// The job was asked to end: from here on the guard waits for beats, whoever else counts on us.
  void beat_from_now_on();
  /// The guard was killed: nobody but the kernel ends us should the loop not turn.
  void go_on_alone();

 private:
  using Clock = std::chrono::steady_clock;

  void beat();
  void beat_soon();
  void wait_for_bell();
  void check_guard();

  boost::asio::steady_timer timer_;
  GuardLink& link_;
  boost::asio::posix::stream_descriptor signal_notifier_;
  boost::asio::steady_timer sample_timer_;
  bool is_leased_ = false;
  bool beats_ = false;
  bool is_alone_ = false;
};

}  // namespace muster
