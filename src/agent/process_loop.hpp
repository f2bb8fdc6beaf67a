#pragma once

// The event loop of a process that runs a job, the agent or the remote launcher, with all that each of them needs:
// signals, the guard, helper processes and output queues.

#include "guard/guard.hpp"
#include "output/output_queues.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"
#include "process/timers.hpp"
#include "run/run_context.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <set>

namespace muster {

/// Handles the events of a `ProcessLoop`.
class LoopOwner {
 public:
  virtual ~LoopOwner() = default;

  /// Called before pending signals are read.
  virtual void before_signals() {}
  virtual void on_signal(int signal) = 0;
  /// The guard was killed: no process may outlive this one.
  virtual void on_guard_lost() = 0;
};

/// Reads signals, watches the guard and sends it heartbeats. `Shutdown` runs it to its end.
class ProcessLoop {
 public:
  /// The arguments outlive it.
  ProcessLoop(GuardLink link, const RunOptions& options, const Inherited& inherited, LoopOwner& owner);

  /// From now on the owner is told of signals and of the guard's end.
  void start();

  /// True for a stop signal that is a request of its own: the guard expects heartbeats from then on. False: the signal
  /// is ignored, or an echo of an earlier one.
  bool is_new_stop(int signal);
  /// True if the stop signal just heard ends the wait for slow consoles: the first one, or one from a keyboard.
  bool ends_drain(int signal) const;
  /// Notes that the workers have got this stop signal. If the guard has sent it, the same signal, still pending here, is no new
  /// request.
  void note_stop_of_workers(int signal);

  boost::asio::io_context& io() { return io_; }
  HelperProcesses& helpers() { return helpers_; }
  OutputQueues& queues() { return queues_; }
  HeartbeatSender& heartbeats() { return heartbeat_sender_; }
  GuardSharedMemory& page() { return link_.page; }
  pid_t guard() const { return link_.guard; }
  double run_time_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Descriptor = boost::asio::posix::stream_descriptor;
  using ErrorCode = boost::system::error_code;

  void wait_for_signals();

  GuardLink link_;
  const RunOptions& options_;
  const std::set<int>& ignored_signals_;
  LoopOwner& owner_;
  boost::asio::io_context io_{1};
  HelperProcesses helpers_;
  OutputQueues queues_;
  Descriptor signals_;
  Descriptor lifeline_;
  HeartbeatSender heartbeat_sender_;
  SignalDebounce stop_debounce_;
  int stops_ = 0;  ///< requests so far
  bool has_logged_ignored_ = false;
  int guard_stop_signal_ = 0;  ///< signal that the guard sent to the workers, still to be read here
  Clock::time_point started_ = Clock::now();
};

}  // namespace muster
