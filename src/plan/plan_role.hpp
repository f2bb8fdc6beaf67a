#pragma once

// The processes of one role on this node. Private to plan/.

#include "plan/places.hpp"
#include "plan/share.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster {

/// Placeholders and what stands for them.
using Values = std::map<std::string, std::string>;

/// Everything that the workers of one role share while they are planned.
struct RolePlan {
  const RoleTemplate& role;
  const ChosenMode& chosen;
  const JobRequest& job;
  const Snapshot& snapshot;
  const std::vector<RoleEndpoints>& endpoints;
  const HostTasks& part;
  std::string log_folder;  ///< of the attempt
  int cores_per_worker = 1;
  bool is_decided = false;         ///< by the gang: endpoints that are not known do not exist
  bool keeps_task_config = false;  ///< TF_CONFIG is the platform's
  bool gives_arguments = true;
  bool reserves_ports = true;
  bool has_several_nodes = false;
  bool decides_success = true;
  RoleSlots named = {};           ///< among the nodes whose role has the same name
  std::vector<int> devices = {};  ///< as the runtime calls them, by a rank table; empty: in turn
  std::vector<int> slots = {};    ///< of each node; empty: hosts are counted instead
  std::vector<std::string> unset = {};  ///< inherited variables that no worker of the role gets
};

/// Adds the processes of the role to the plan, whose world size is the number of those before them.
void plan_role(LaunchPlan& plan, const RolePlan& shared, const RolePlace& place, Values values);

}  // namespace muster
