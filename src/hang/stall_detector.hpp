#pragma once

// Decides when a job hangs, and what is said of it. Pure: the caller asks the nodes and owns the timer.

#include "hang/evidence.hpp"
#include "hang/verdict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster::hang {

/// Watches one attempt. A job is quiet while none of its ranks writes a line or reports a step. At half of the limit
/// the first evidence is gathered, at the limit the second; what has not changed between them is compared.
///
///   Watching ── quiet for half of the limit: gather ──▶ Suspicious ── quiet for the limit: gather, judge ──▶ Reported
///      ▲                                                   │                                                    │
///      └──────────────────── a line, a step ───────────────┴────────────────────────────────────────────────────┘
class StallDetector {
 public:
  /// `limit`: seconds of quiet after which a hang is reported; `world_size`: ranks of the job.
  StallDetector(double limit, int world_size) : limit_(limit), world_size_(world_size) {}

  /// The next step of the caller.
  struct Step {
    bool gathers = false;            ///< ask all nodes, then call `on_evidence`
    double delay = 0;                ///< else: seconds until `on_time`
    std::vector<std::string> lines;  ///< for the consoles of all nodes
  };

  /// Seconds until the first `on_time`.
  [[nodiscard]] double first_delay() const { return limit_ / 2; }
  /// `quiet`: seconds for which the ranks of this node have been quiet.
  [[nodiscard]] Step on_time(double quiet);
  /// `evidence` of all ranks that could be asked.
  [[nodiscard]] Step on_evidence(Evidence evidence);

 private:
  Step report(const Evidence& evidence);
  Step begin_again(double quiet);

  double limit_;
  int world_size_;
  std::optional<Evidence> before_;
  double longest_quiet_ = 0;         ///< of the stall that was reported
  std::optional<Finding> reported_;  ///< in this stall
};

}  // namespace muster::hang
