#pragma once

// Completes the facts about the nodes with defaults, and checks the leader's address.

#include "platforms/platform.hpp"
#include "platforms/roles.hpp"

#include <string>

namespace muster {

/// Fills in defaults for a single node. Fails if several nodes lack a value that they need, and says so in the words
/// of the command line. Fails if a rank is not below its count.
[[nodiscard]] Result<> complete(PlatformFacts& facts, const JobRoles& roles, const Platform* platform,
                                const OptionNames& names);

/// Adds to the text the platform's command that starts this line on each node, if the platform has one.
std::string with_advice(const std::string& text, const PlatformFacts& facts, const OptionNames& names);

// Checks that nodes can meet at the leader's address.

/// Fails for a leader address that cannot be right on this node of a multi-node job. Returns a notice for an address
/// that is right only if all nodes are on one machine; empty: no objection. An address from the user is not checked:
/// tests run several agents on one machine.
[[nodiscard]] Result<std::string> check_leader_address(const PlatformFacts& facts);

}  // namespace muster
