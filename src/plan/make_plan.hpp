#pragma once

// What a plan tells its user at the start.

#include "plan/host_tasks.hpp"
#include "plan/launch_plan.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster {

/// The one line at the start: who we think we are. How many workers the whole job has is not known
/// before all nodes have met. It names a mode that nobody has asked muster for. `cores`: those that the workers here have, in words.
void remark_start(LaunchPlan& plan, const PlanInput& input, const std::string& cores);

/// What is odd about the binding, and a binding that no process of this node has.
void remark_binding(LaunchPlan& plan, const JobRequest& job);

// What no worker of any job gets.

/// The inherited variables that are muster's own options.
[[nodiscard]] std::vector<std::string> own_variables(const Snapshot& snapshot);

// Ranks and devices by a rank table.

/// Puts the ranks of the table, if there is one, in the place of those that follow the placement.
void apply_ranks(std::vector<RolePlace>& places, const PlanInput& input);

/// True of a job that reads a rank table: it is here, or will be at the start.
[[nodiscard]] bool reads_table(const PlanInput& input);

/// True where only a rank table says how many workers there are, and it is not here yet.
[[nodiscard]] bool awaits_table(const PlanInput& input, bool takes_table);

/// How the runtime calls the device of each process of this node; empty: no table says which they have.
[[nodiscard]] std::vector<int> runtime_devices(const PlanInput& input);

// The processes of one role on this node.

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
  RoleSlots named = {};                 ///< among the nodes whose role has the same name
  std::vector<int> devices = {};        ///< as the runtime calls them, by a rank table; empty: in turn
  std::vector<int> slots = {};          ///< of each node; empty: hosts are counted instead
  std::vector<std::string> unset = {};  ///< inherited variables that no worker of the role gets
};

/// Adds the processes of the role to the plan, whose world size is the number of those before them.
void plan_role(LaunchPlan& plan, const RolePlan& shared, const RolePlace& place, Values values);

// What mpirun, and the PMIx servers, have to be told of the nodes.

/// {hostfile}, {interfaces}, {mpirun_mapping}, {mpirun_processes}, {networks}, {oversubscribed} and {slots}. `exported` is what the user says of variables
/// of the ranks beside the environment.
void add_mpirun_values(std::map<std::string, std::string>& values, const Placement& placement, const Snapshot& snapshot,
                       const std::map<std::string, std::string>& exported, const MpirunWords& words);

/// What the PMIx server of each node has to know, where there are any.
void add_mpi(LaunchPlan& plan, const std::map<std::string, std::string>& values);

/// Says which interfaces of the user's choice this host does not have, in a job that is told {interfaces}.
void remark_interfaces(LaunchPlan& plan, const std::vector<std::string>& texts, const Snapshot& snapshot);

}  // namespace muster
