// Leader addresses that lead each machine to itself. Nothing is looked up: what a name stands for, the gang
// sees when it looks the name up.
#include "platforms/leader_address.hpp"

#include "environment/own_host.hpp"

namespace muster {
namespace {

/// What a server binds to be reached everywhere, and nobody can be reached at.
bool is_any_address(const std::string& address) {
  return address == "0.0.0.0" || address == "::";
}

/// True when the platform lists this node under that very name.
bool is_local_host(const PlatformFacts& facts, const std::string& name) {
  if (!facts.hosts || !facts.node_rank) {
    return false;
  }
  const auto rank = static_cast<std::size_t>(facts.node_rank->value);
  return rank < facts.hosts->value.size() && facts.hosts->value[rank] == name;
}

/// True when the platform itself says that all nodes are here.
bool is_one_machine(const PlatformFacts& facts) {
  return facts.share &&
         (facts.share->hosts == 1 || facts.share->local_size.value == facts.nodes->value);
}

std::string only_on_one_machine(const PlatformFacts& facts) {
  const Sourced<std::string>& leader = *facts.master_address;
  return leader.source.name + " is '" + leader.value + "' in a job of " +
         std::to_string(facts.nodes->value) +
         " nodes: a machine reaches only itself there, so all of them must be on this one";
}

}  // namespace

bool is_only_own_machine(const std::string& address) {
  return is_loopback(address);
}

Result<std::string> check_leader_address(const PlatformFacts& facts) {
  const Sourced<std::string>& leader = *facts.master_address;
  const std::string& address = leader.value;
  // The leader may be told so, and it need not know another name of itself.
  const bool is_leader = facts.node_rank && facts.node_rank->value == 0;
  if (facts.nodes->value == 1 || is_leader || is_local_host(facts, address) ||
      is_one_machine(facts)) {
    return std::string();
  }
  if (is_given(leader.source)) {  // a user may try several agents on one machine
    const bool leads_here = is_only_own_machine(address);
    return leads_here && facts.node_rank ? only_on_one_machine(facts) : std::string();
  }
  if (is_any_address(address)) {
    return wrong_value(leader, "an address at which the other nodes reach the leader");
  }
  if (is_loopback_name(address) && facts.node_rank) {
    return contradiction(
        leader,
        Sourced<std::string>{std::to_string(facts.node_rank->value), facts.node_rank->source},
        "only the leader can reach itself by that name");
  }
  if (!is_loopback(address)) {
    return std::string();
  }
  return only_on_one_machine(facts);
}

}  // namespace muster
