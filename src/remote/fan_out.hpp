#pragma once

// Who starts what where, when muster itself starts the agents of a job on other hosts.

#include "platforms/given_hosts.hpp"
#include "remote/order.hpp"
#include "remote/remote_shell.hpp"
#include "plan/launch_plan.hpp"

#include <string>
#include <vector>

namespace muster {

/// All that the agents are made from.
struct FanOut {
  Sourced<std::vector<GivenHost>> hosts;  ///< by node rank
  RemoteShell shell;
  std::string command;     ///< for the remote shell: starts an agent there
  std::string local_host;  ///< where the front runs: ssh is not needed there
  AgentOrder order;        ///< but for what is a node's own
};

/// The order of one node: who it is, and how many workers it has.
[[nodiscard]] AgentOrder order_of(const FanOut& fan_out, std::size_t node);

/// The plan of the front: one process for each node, its remote shell.
[[nodiscard]] LaunchPlan make_front_plan(const FanOut& fan_out);

}  // namespace muster
