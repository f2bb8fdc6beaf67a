#pragma once

// Who wants to know what happens to an attempt. Private to run/.

#include "process/descendants.hpp"
#include "process/reaper.hpp"

#include "services/service.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace muster {

/// The others are being asked to end.
struct EndRequest {
  int signal = 0;
  bool is_ordered = false;  ///< by somebody outside this node
  std::string order;        ///< why; empty: the report is about to say it
  std::chrono::milliseconds grace{};
};

/// Is told what happens, in the order in which it happens, and decides nothing about it. Whoever needs
/// only some of it leaves the rest alone.
class AttemptListener {
 public:
  AttemptListener() = default;
  AttemptListener(const AttemptListener&) = delete;
  AttemptListener& operator=(const AttemptListener&) = delete;
  virtual ~AttemptListener() = default;

  virtual void on_started(std::size_t /*worker*/) {}
  virtual void on_ended(const Death& /*death*/) {}
  /// Its standard output and error are closed, and it has been running on for a while.
  virtual void on_silent(std::size_t /*worker*/) {}
  /// By a debugger, or by somebody's SIGSTOP.
  virtual void on_stopped(const Stopped& /*stopped*/) {}
  /// It serves the workers, has ended with 0, and they have been running on for a while.
  virtual void on_early_end(std::size_t /*worker*/) {}

  /// A service failed when the workers needed it no more.
  virtual void on_unneeded_failure(const ServiceFailure& /*failure*/) {}
  virtual void on_asked_to_end(const EndRequest& /*request*/) {}
  /// Said from time to time while the grace runs.
  virtual void on_still_waiting(std::chrono::nanoseconds /*left*/) {}
  virtual void on_overdue(std::size_t /*worker*/, const EndRequest& /*request*/) {}
  /// All ranks have ended well, and these are still there after a moment. They are asked to end. Where mpirun has started the
  /// ranks, it may still run, and this may come again.
  virtual void on_left_behind(const std::vector<Process>& /*left*/) {}
  virtual void on_not_killed(const std::vector<Process>& /*left*/) {}
  /// Nothing is alive, and what was written has been read.
  virtual void on_over() {}
};

}  // namespace muster
