#pragma once

// Compares what the command line says about nodes with what the platform around this process knows of this node.

#include "platforms/platform.hpp"

#include <string>
#include <vector>

namespace muster {

/// A line that says something about nodes, and the platform whose values it replaces.
struct ReplacedPlatform {
  const Platform& platform;
  Result<PlatformFacts> known;  ///< what the platform says; an error where it cannot be read
  const ClusterRequest& request;
  const Snapshot& snapshot;
};

/// Notices about differences that may be meant so. Fails where both cannot be true: by the platform's list of hosts
/// this node is to lead at another host's address, or to follow at its own. `facts` are those that count.
[[nodiscard]] Result<std::vector<std::string>> compare_with_platform(const ReplacedPlatform& replaced,
                                                                     const PlatformFacts& facts);

/// The platform's hosts by node rank, where they fit the line: the same nodes, rank and leader; else empty.
std::optional<Sourced<std::vector<std::string>>> hosts_that_fit(const ReplacedPlatform& replaced,
                                                                const PlatformFacts& facts);

}  // namespace muster
