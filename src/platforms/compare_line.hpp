#pragma once

// Compares what the command line says about nodes with what the platform around this process knows of this node.

#include "platforms/platform.hpp"

#include <string>
#include <vector>

namespace muster {

/// A command line that describes the nodes, and the platform whose values it replaces.
struct ReplacedPlatform {
  const Platform& platform;
  Result<PlatformFacts> known;  ///< what the platform says; an error where it cannot be read
  const ClusterRequest& request;
  const Snapshot& snapshot;
};

/// Returns notices about differences that may be intended. Fails if by the platform's list of hosts this node would
/// lead at another host's address, or follow at its own. `facts`: those that the job uses.
[[nodiscard]] Result<std::vector<std::string>> compare_with_platform(const ReplacedPlatform& replaced,
                                                                     const PlatformFacts& facts);

/// The platform's hosts by node rank, if they fit the command line: the same nodes, rank and leader; else empty.
std::optional<Sourced<std::vector<std::string>>> hosts_that_fit(const ReplacedPlatform& replaced,
                                                                const PlatformFacts& facts);

}  // namespace muster
