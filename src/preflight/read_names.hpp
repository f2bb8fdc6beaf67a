#pragma once

// Resolves the name of the leader and that of this node, for --preflight full.

#include "preflight/host_facts.hpp"

#include <string>
#include <vector>

namespace muster::preflight {

/// Looks up both names in /etc/hosts and DNS, and the names of this node's addresses. Blocks for a second for each name
/// server and look-up. An address as the leader's name is no fact.
Facts read_names(const std::string& leader, const std::string& own);

/// The leader's addresses as a fact, whatever their order: only those of IPv4, if there is one. "not known" if one of
/// them belongs to this node, which then is the leader and may know itself by other addresses. Pure.
std::string describe_leader(const std::vector<std::string>& addresses, const std::vector<std::string>& own_addresses);

/// Tells whether a node's name leads to an address, and whether the names of its addresses lead back to it. A name is
/// empty for an address without one. Pure.
std::string describe_own(const std::string& own, const std::vector<std::string>& addresses,
                         const std::vector<std::string>& names);

}  // namespace muster::preflight
