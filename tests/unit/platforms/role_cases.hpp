#pragma once

// One-line description of the cluster for a mode that counts its roles, for the tests of platforms.

#include "platforms/snapshots.hpp"

namespace muster {

/// The roles of a mode of parameter servers.
inline const std::vector<std::string> kRoles = {"chief", "worker", "ps", "evaluator"};

/// "node 1 of 4, 1 slots, a:29500, tfjob, worker=2,ps=2", or the error.
inline std::string counted(const Texts& variables, const Texts& options = {},
                           const std::vector<std::string>& roles = kRoles) {
  const auto cluster = describe_cluster(node_with(variables), flags(options), roles);
  if (!cluster) {
    return std::to_string(cluster.error().exit_code()) + ": " + cluster.error().message;
  }
  std::string sizes;
  for (const RoleSize& size : cluster->job.roles) {
    sizes += (sizes.empty() ? "" : ",") + size.role + "=" + std::to_string(size.count);
  }
  return in_one_line(*cluster) + ", " + sizes;
}

}  // namespace muster
