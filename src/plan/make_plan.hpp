#pragma once

// Parts of a plan: notices, rank tables, the processes of one role, values for MPI. Private to plan/.

#include "plan/host_tasks.hpp"
#include "plan/launch_plan.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster {

/// Adds the start line with this node's place in the job, and a mode that was detected. The number of workers in the
/// whole job is not known before the nodes have met. `cores` describes the cores of the workers here.
void add_start_notice(LaunchPlan& plan, const PlanInput& input, const std::string& cores);

/// Adds a notice on node 0 where MindCluster's TaskD is wanted, which patches other launchers.
void add_taskd_notice(LaunchPlan& plan, const Snapshot& snapshot);

/// Adds notices about unusual bindings, and about a binding that no process of this node has.
void add_binding_notice(LaunchPlan& plan, const JobRequest& job);

// Ranks and devices by a rank table.

/// Replaces the ranks of the placement with those of the rank table, if there is one.
void apply_ranks(std::vector<RolePlace>& places, const PlanInput& input);

/// True for a job that reads a rank table, now or at the start.
bool reads_table(const PlanInput& input);

/// True where only a rank table that is not here yet decides the number of workers.
bool awaits_table(const PlanInput& input, bool takes_table);

/// The runtime's number of the device of each process on this node; empty: no table assigns devices.
std::vector<int> runtime_devices(const PlanInput& input);

// The processes of one role on this node.

/// Values by placeholder.
using Values = std::map<std::string, std::string>;

/// The facts that the workers of one role share.
struct RolePlan {
  const RoleTemplate& role;
  const PlanInput& input;
  const Placement& placement;
  const std::vector<RoleEndpoints>& endpoints;
  const HostTasks& part;
  const std::string& log_folder;  ///< log directory of the attempt
  bool decides_success = true;
  RoleSlots named = {};                 ///< place among the nodes whose role has the same name
  std::vector<int> devices = {};        ///< runtime numbers by a rank table; empty: assigned in turn
  std::vector<int> slots = {};          ///< by node; empty: hosts are counted instead
  std::vector<std::string> unset = {};  ///< inherited variables that no worker of the role gets
};

/// Adds the processes of the role to the plan; `plan.world_size` is the number of processes before them.
void plan_role(LaunchPlan& plan, const RolePlan& shared, const RolePlace& place, Values values);

/// Puts the directory in front of the workers' PYTHONPATH, without an empty part, which means the worker's directory.
void add_python_path(std::map<std::string, std::string>& environment, const std::string& folder,
                     const Snapshot& snapshot);

// Values about the nodes for mpirun and the PMIx servers.

/// Adds {hostfile}, {interfaces}, {mpirun_mapping}, {mpirun_processes}, {networks}, {oversubscribed} and {slots}.
/// `exported` holds the user's variables for the ranks beside the environment.
void add_mpirun_values(std::map<std::string, std::string>& values, const Placement& placement, const Snapshot& snapshot,
                       const std::map<std::string, std::string>& exported, const MpirunWords& words);

/// Sets the plan's fields for the PMIx server of each node, in a job that has these servers.
void add_mpi(LaunchPlan& plan, const std::map<std::string, std::string>& values);

/// Adds a notice about interfaces of the user's choice that this host lacks, in a job that uses {interfaces}.
void add_interface_notice(LaunchPlan& plan, const std::vector<std::string>& texts, const Snapshot& snapshot);

}  // namespace muster
