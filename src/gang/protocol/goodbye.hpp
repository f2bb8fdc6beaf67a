#pragma once

// Ends the job: tells all agents, and waits for them to leave. Part of the leader: pure.

#include "gang/protocol/gang_state.hpp"

#include <optional>

namespace muster::gang {

class Goodbye {
 public:
  /// The state outlives it.
  explicit Goodbye(GangState& gang) : gang_(gang) {}

  /// The job ends with this.
  void conclude(JobEnd end, Instant now);
  /// Drops the agents that did not leave in time.
  void drop_all_links();
  /// Closes the gang when nobody else is left.
  void dissolve_if_alone();
  Instant deadline() const { return deadline_; }

 private:
  GangState& gang_;
  Instant deadline_;
};

}  // namespace muster::gang
