#pragma once

// What mpirun, and the PMIx servers, have to be told of the nodes. Private to plan/.

#include "plan/launch_plan.hpp"

#include <map>
#include <string>

namespace muster {

/// {hostfile}, {interfaces}, {mpirun_mapping}, {mpirun_processes}, {networks}, {oversubscribed} and {slots}. `exported` is what the user says of variables
/// of the ranks beside the environment.
void add_mpirun_values(std::map<std::string, std::string>& values,
                       const Placement& placement,
                       const Snapshot& snapshot,
                       const std::map<std::string, std::string>& exported,
                       const MpirunWords& words);

/// What the PMIx server of each node has to know, where there are any.
void add_mpi(LaunchPlan& plan, const std::map<std::string, std::string>& values);

/// Says which interfaces of the user's choice this host does not have, in a job that is told {interfaces}.
void remark_interfaces(LaunchPlan& plan,
                       const std::vector<std::string>& texts,
                       const Snapshot& snapshot);

}  // namespace muster
