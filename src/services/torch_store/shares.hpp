#pragma once

// Who gives way when there are no connections left for others. Pure.

#include "services/torch_store/client.hpp"

#include <cstddef>
#include <vector>

namespace muster::store {

/// A connection, as far as it counts here.
struct ClientMemory {
  ClientId client = 0;
  Process process;
  bool has_asked = false;  ///< for something, and not only said who it is
};

/// The process that has most connections.
struct LargestHolder {
  Process process;
  std::size_t connections = 0;  ///< 0: there is nobody
  /// Those of its connections that give way, at least one of those beyond its share, and not more: up to half of those
  /// that have asked for nothing, from the middle, as the oldest may be the second connections of ranks of torch 1.13
  /// and 2.0, which are silent for good, and the newest may be about to ask; where there are none, up to half of all,
  /// the newest, as a rank's own store is its oldest. None: it has no more than its share.
  std::vector<ClientId> give_way;
};

/// All without a pid at one address are one process. `share`: the connections that each may have.
[[nodiscard]] LargestHolder largest_holder(const std::vector<ClientMemory>& connections,
                                           std::size_t share);

}  // namespace muster::store
