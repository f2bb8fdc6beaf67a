#pragma once

// What ranks of mpirun leave behind while it runs. Private to run/.

#include "agent/attempt_listener.hpp"
#include "process/workers.hpp"
#include "process/timers.hpp"

#include "plan/launch_plan.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace muster {

/// mpirun waits for everybody who has the output of a rank open, also when no rank is left: for ever, if a rank has started a
/// server. What other workers leave behind is ended when they all have ended on a node; here it is when mpirun's ranks have.
class RankOrphans : public AttemptListener {
 public:
  /// What is left after `grace` is killed.
  RankOrphans(boost::asio::io_context& io,
              const LaunchPlan& plan,
              const Workers& workers,
              std::chrono::milliseconds grace);

  /// The ranks of this node have ended, and their starter has not: to be asked to end. At each look again.
  std::function<void(const std::vector<Process>& left)> on_left;

  /// A worker has been started: one that starts ranks is looked at until it ends.
  void on_started(std::size_t worker) override;
  void cancel() { timer_.cancel(); }

 private:
  void look();
  [[nodiscard]] bool is_a_starter_alive() const;

  const LaunchPlan& plan_;
  const Workers& workers_;
  DelayedCall timer_;
  std::chrono::milliseconds grace_;
  std::optional<std::chrono::steady_clock::time_point> seen_;  ///< since when something is left
};

}  // namespace muster
