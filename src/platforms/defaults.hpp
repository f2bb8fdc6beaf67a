#pragma once

// Completes the facts about the nodes with defaults, and checks the leader's address.

#include "platforms/platform.hpp"
#include "platforms/roles.hpp"

#include <string>

namespace muster {

/// Fills in defaults for a single node, and fails for values that several nodes need and that are missing, in the
/// command line's words. Fails where a rank is not below its count.
[[nodiscard]] Result<> complete(PlatformFacts& facts, const JobRoles& roles, const Platform* platform,
                                const OptionNames& names);

/// Adds the platform's command that starts the line on each node; only the text where there is none.
std::string with_advice(const std::string& text, const PlatformFacts& facts, const OptionNames& names);

// Checks that nodes can meet at the leader's address.

/// Fails for a leader address that cannot be right on this node of a multi-node job. Returns a notice for an address
/// that is right only if all nodes are on one machine; empty: no objection. An address from the user is not checked:
/// tests run several agents on one machine.
[[nodiscard]] Result<std::string> check_leader_address(const PlatformFacts& facts);

}  // namespace muster
