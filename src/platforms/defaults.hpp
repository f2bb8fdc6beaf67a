#pragma once

// What is known of the nodes, made complete.

#include "platforms/platform.hpp"
#include "platforms/roles.hpp"

#include <string>

namespace muster {

/// Fills what one node does not need to be told, and asks for what several nodes need, in the words that
/// the command line has for it. Fails where a rank is not below its count.
[[nodiscard]] Result<> complete(PlatformFacts& facts, const JobRoles& roles, const Platform* platform,
                                const OptionNames& names);

// Whether nodes can meet where a platform says that the leader is.

/// Fails for an address of the leader that cannot be right on this node of a job of several. One that is right
/// only if all nodes are on one machine is answered with a sentence for the start; empty: nothing is odd. What
/// the user gives is taken as it is: tests run several agents on one machine.
[[nodiscard]] Result<std::string> check_leader_address(const PlatformFacts& facts);

/// True for an address or a name of loopback.
[[nodiscard]] bool is_only_own_machine(const std::string& address);

}  // namespace muster
