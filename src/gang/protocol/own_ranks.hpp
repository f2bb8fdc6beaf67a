#pragma once

// Decides what a node may speak of: its own ranks, and the first node of hangs. Part of the leader: pure.

#include "gang/protocol/gang_state.hpp"

#include <optional>
#include <string>

namespace muster::gang {

/// Tells the user once for each node that something is left out.
class OwnRanks {
 public:
  /// The state outlives it.
  explicit OwnRanks(GangState& gang) : gang_(gang) {}

  /// A node speaks of its own processes alone: the others' are healthy for all that it knows.
  bool is_of(LinkId link, GlobalRank rank);
  /// Node 0 watches the attempt for hangs.
  bool is_watcher(LinkId link);
  /// The failure with the node's own name; empty: it is another node's.
  std::optional<Failure> own_failure(LinkId link, Failure failure);
  OtherFailures own_failures(LinkId link, const OtherFailures& failures);
  /// Each line of a node costs one on every console, so a node has a number of them for each minute.
  bool may_announce(LinkId link, Instant now);

 private:
  void warn_of_foreign_rank(LinkId link, const std::string& whom);

  GangState& gang_;
};

}  // namespace muster::gang
