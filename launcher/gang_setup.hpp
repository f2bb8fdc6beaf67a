#pragma once

// From what is known about the job to the part that this node has in its gang.

#include "platforms/cluster.hpp"
#include "gang/policy.hpp"
#include "agent/run.hpp"

namespace muster {

/// How this node meets the others of the job. Reads the token file. Fails when the token cannot be
/// read or is too short, blaming what named it.
[[nodiscard]] Result<gang::GangSetup> make_gang_setup(const Cluster& cluster,
                                                      const gang::GangOptions& options);

/// A job of one node that nobody else takes part in: a worker of another launcher.
[[nodiscard]] gang::GangSetup make_lone_setup(const RunOptions& options);

}  // namespace muster
