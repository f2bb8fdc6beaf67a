#pragma once

// Decides what a node may report: only on its own ranks, and hangs only as node 0. Part of the leader: pure.

#include "gang/protocol/gang_state.hpp"

#include <optional>
#include <string>

namespace muster::gang {

/// Ignores other reports of a node, and tells the user so once for each node.
class OwnRanks {
 public:
  /// The state outlives it.
  explicit OwnRanks(GangState& gang) : gang_(gang) {}

  /// True if the rank belongs to the node. It may report only on its own: it cannot know that others are not healthy.
  bool is_of(LinkId link, GlobalRank rank);
  /// True for node 0, which watches the attempt for hangs.
  bool is_watcher(LinkId link);
  /// The failure, with the node's real name; empty: the failed rank belongs to another node.
  std::optional<Failure> own_failure(LinkId link, Failure failure);
  OtherFailures own_failures(LinkId link, const OtherFailures& failures);
  /// True if the node may still send lines this minute: each one is printed on every console.
  bool may_announce(LinkId link, Instant now);

 private:
  void warn_of_foreign_rank(LinkId link, const std::string& whom);

  GangState& gang_;
};

}  // namespace muster::gang
