#pragma once

// Which platform describes the cluster. Private to cluster/.

#include "platforms/platform.hpp"
#include "platforms/tasks.hpp"

#include <string>

namespace muster {

/// The platform, and what made it the one.
struct Choice {
  const Platform* platform = nullptr;  ///< empty: no platform speaks, only flags and defaults
  std::string name;                    ///< what --platform asked for by name; empty: detected
  Source source;
};

/// --platform, else the most specific platform whose sign is there; "^NAME" leaves that one out. `roles` as for describe_cluster.
[[nodiscard]] Result<Choice> choose_platform(const Snapshot& snapshot,
                                             const ClusterRequest& request,
                                             const Roles& roles);

/// The platform that a form of another launcher's line passes over: such a form chooses "flags" by itself. Null: there
/// is none, or the user has named "flags".
[[nodiscard]] const Platform* find_passed_over(const Choice& choice,
                                               const Snapshot& snapshot,
                                               const ClusterRequest& request,
                                               const Roles& roles);

}  // namespace muster
