#pragma once

// A parameter server or a scheduler that ends before those whom it serves. Private to run/.

#include "process/workers.hpp"
#include "process/timers.hpp"

#include "plan/launch_plan.hpp"

#include <vector>

namespace muster {

/// That is a mistake more often than not, unless they end a moment later.
class EarlyServerExit {
 public:
  /// `look` is called when the moment is over: time to `take`.
  EarlyServerExit(boost::asio::io_context& io,
                  const LaunchPlan& plan,
                  const Workers& workers,
                  std::function<void()> look);

  /// A worker has ended, and nobody was asked to.
  void note(const Death& death);
  void cancel() { timer_.cancel(); }

  /// Those that have ended with 0 and do not decide success, while others that do run on. Each once.
  [[nodiscard]] std::vector<std::size_t> take();

 private:
  const LaunchPlan& plan_;
  const Workers& workers_;
  DelayedCall timer_;
  std::vector<std::size_t> ended_;
};

}  // namespace muster
