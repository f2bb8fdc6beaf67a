#pragma once

// Watches an attempt for hangs, on one node of the job (docs/hangs.md). Private to src/agent.

#include "agent/hang/rank_evidence.hpp"
#include "hang/stall_detector.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>

namespace muster {

/// The owner of a hang watch: knows the ranks.
class HangWatchOwner {
 public:
  virtual ~HangWatchOwner() = default;

  [[nodiscard]] virtual QuietSeconds quiet_seconds() const = 0;
  /// Asks all nodes where their ranks are, and calls `then` once.
  virtual void gather(bool asks_recorders, std::function<void(hang::Evidence)> then) = 0;
  /// Called with each step; where it has a look, from within the `then` of the evidence.
  virtual void report(const hang::StallDetector::Step& step) = 0;
};

/// Asks when the detector wants to know more, and reports what it finds.
class HangWatch {
 public:
  /// `owner` outlives it.
  HangWatch(boost::asio::io_context& io, HangWatchOwner& owner) : owner_(owner), timer_(io) {}

  /// Watches an attempt from now on.
  void start(hang::StallDetector detector);
  void stop();

 private:
  void look_after(double seconds);
  void act(const hang::StallDetector::Step& step);

  HangWatchOwner& owner_;
  Timer timer_;
  CallbackScope gathering_;                      ///< the evidence of an attempt is not that of the next one
  std::optional<hang::StallDetector> detector_;  ///< empty: no attempt is watched
};

}  // namespace muster
