#pragma once

// Which processes of which role run on which node. Pure, and private to plan/.

#include "platforms/cluster.hpp"
#include "modes/mode_template.hpp"
#include "plan/launch_plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The processes of one role: those of one node, and all of the job.
struct RolePlace {
  std::vector<int> here;  ///< their positions within the role
  int total = 0;
};

/// One place for each role of the template, for this node.
[[nodiscard]] std::vector<RolePlace> place_roles(const ModeTemplate& mode,
                                                 const Cluster& cluster,
                                                 const Placement& placement);

/// Where each process listens, "host:port" by role and by position within the role. The platform's
/// word, else what the nodes have reserved; empty while that is not known.
[[nodiscard]] std::vector<RoleEndpoints> find_endpoints(const ModeTemplate& mode,
                                                        const Cluster& cluster,
                                                        const Placement& placement);

/// How many processes there are on each node, as far as that is known; else empty.
[[nodiscard]] std::vector<int> find_slots(const Cluster& cluster, const Placement& placement);

/// The nodes that have a process with a certain local rank: how many there are, and which of them this is.
struct CrossPlace {
  int rank = 0;
  int size = 1;
};

/// Of the process with this local rank on that node; `slots`: by node rank.
[[nodiscard]] CrossPlace find_cross_place(const std::vector<int>& slots,
                                          NodeRank node,
                                          int local_rank);

/// TF_CONFIG of one process. Evaluators are in no cluster but their own.
/// Source: tensorflow.org, "Distributed training with TensorFlow", TF_CONFIG.
[[nodiscard]] std::string task_config(const std::vector<RoleEndpoints>& endpoints,
                                      const std::string& role,
                                      int index);

/// The TF_CONFIG that the platform gave, by the same rule: without roles that have no process, and without the
/// evaluators, but for those. Otherwise as it is: it may say more than where the tasks are.
[[nodiscard]] std::string task_config_of_platform(std::string_view given, std::string_view role);

}  // namespace muster
