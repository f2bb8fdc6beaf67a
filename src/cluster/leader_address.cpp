// Leader addresses that lead each machine to itself. Nothing is looked up: what a name stands for, the gang
// sees when it looks the name up.
#include "leader_address.hpp"

#include <muster/environment/own_host.hpp>

namespace muster {
namespace {

/// What a server binds to be reached everywhere, and nobody can be reached at.
bool is_any_address(const std::string& address) {
  return address == "0.0.0.0" || address == "::";
}

/// True when the platform lists this node under that very name.
bool is_own_host(const Findings& findings, const std::string& name) {
  if (!findings.hosts || !findings.node_rank) {
    return false;
  }
  const auto rank = static_cast<std::size_t>(findings.node_rank->value);
  return rank < findings.hosts->value.size() && findings.hosts->value[rank] == name;
}

/// True when the platform itself says that all nodes are here.
bool is_one_machine(const Findings& findings) {
  return findings.share &&
         (findings.share->hosts == 1 || findings.share->local_size.value == findings.nodes->value);
}

std::string only_on_one_machine(const Findings& findings) {
  const Sourced<std::string>& leader = *findings.master_address;
  return leader.source.name + " is '" + leader.value + "' in a job of " +
         std::to_string(findings.nodes->value) +
         " nodes: a machine reaches only itself there, so all of them must be on this one";
}

}  // namespace

bool is_only_own_machine(const std::string& address) {
  return is_loopback(address);
}

Result<std::string> check_leader_address(const Findings& findings) {
  const Sourced<std::string>& leader = *findings.master_address;
  const std::string& address = leader.value;
  // The leader may be told so, and it need not know another name of itself.
  const bool is_leader = findings.node_rank && findings.node_rank->value == 0;
  if (findings.nodes->value == 1 || is_leader || is_own_host(findings, address) ||
      is_one_machine(findings)) {
    return std::string();
  }
  if (is_given(leader.source)) {  // a user may try several agents on one machine
    const bool leads_here = is_only_own_machine(address);
    return leads_here && findings.node_rank ? only_on_one_machine(findings) : std::string();
  }
  if (is_any_address(address)) {
    return wrong_value(leader, "an address at which the other nodes reach the leader");
  }
  if (is_loopback_name(address) && findings.node_rank) {
    return contradiction(
        leader,
        Sourced<std::string>{std::to_string(findings.node_rank->value), findings.node_rank->source},
        "only the leader can reach itself by that name");
  }
  if (!is_loopback(address)) {
    return std::string();
  }
  return only_on_one_machine(findings);
}

}  // namespace muster
