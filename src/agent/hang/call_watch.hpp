#pragma once

// Looks from time to time whether workers of this node stay in an uninterruptible system call (docs/hangs.md). Private
// to src/agent.

#include "agent/attempt_parts.hpp"
#include "agent/workers.hpp"
#include "hang/long_calls.hpp"
#include "plan/launch_plan.hpp"
#include "process/timer.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace muster {

/// Watches the workers of one attempt for calls that do not end.
class CallWatch {
 public:
  /// A worker that has been in one call for this long.
  struct Found {
    std::size_t worker = 0;
    std::chrono::seconds length{};
    std::string function;  ///< of the kernel; empty: not readable
  };

  /// `workers` outlives it. A job below another launcher is not watched.
  CallWatch(const AttemptInput& input, const LaunchPlan& plan, const Workers& workers);

  // Called when a call becomes long, when a long call ends, and at the limit for a call. Each may cancel the watch.
  std::function<void(const Found&)> on_long;
  std::function<void(const Found&)> on_over;
  std::function<void(const Found&)> on_too_long;

  void start();
  void cancel() { timer_.cancel(); }

 private:
  void look();
  void read_state(std::size_t worker);

  const Workers& workers_;
  std::size_t count_;
  bool is_wanted_;
  hang::LongCalls calls_;
  Timer timer_;
};

/// "has been in an uninterruptible system call for 30 s (nfs_wait_bit_killable)"
std::string describe(const CallWatch::Found& found);

}  // namespace muster
