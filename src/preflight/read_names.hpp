#pragma once

// Resolves the name of the leader and that of this node, for --preflight full.

#include "preflight/host_facts.hpp"

#include <string>
#include <vector>

namespace muster::preflight {

/// Looks up both names in /etc/hosts and DNS, and the names of this node's addresses. Blocks for a second for each name
/// server and look-up. An address as the leader's name is no fact.
Facts read_names(const std::string& leader, const std::string& own);

/// The leader's addresses as a fact, whatever their order: those of IPv4 if there is one. "not known" where one of them is
/// of this node, which then leads and has names of its own for itself. Pure.
std::string describe_leader(const std::vector<std::string>& addresses, const std::vector<std::string>& own_addresses);

/// Tells whether a node's name leads to an address, and the names of its addresses back to it. A name is empty for an
/// address without one. Pure.
std::string describe_own(const std::string& own, const std::vector<std::string>& addresses,
                         const std::vector<std::string>& names);

}  // namespace muster::preflight
