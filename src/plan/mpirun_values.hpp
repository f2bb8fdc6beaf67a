#pragma once

// What mpirun has to be told of the nodes. Private to plan/.

#include <muster/plan/launch_plan.hpp>

#include <map>
#include <string>

namespace muster {

/// {hostfile}, {networks}, {oversubscribed} and {slots}.
void add_mpirun_values(std::map<std::string, std::string>& values,
                       const Placement& placement,
                       const Snapshot& snapshot);

}  // namespace muster
