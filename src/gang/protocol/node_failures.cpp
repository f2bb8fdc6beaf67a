// Counts the failures of each node.
#include "gang/protocol/node_failures.hpp"

#include "environment/local_host.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

NodeName name_of(const Member& member) {
  const NodeFacts& node = member.join.node;
  return {node.host, node.machine, node.machine.empty() ? node.host + " " + member.peer : node.machine};
}

void NodeFailures::begin(std::vector<NodeName> nodes) {
  nodes_ = std::move(nodes);
  losses_.clear();
}

const NodeName* NodeFailures::node(NodeRank rank) const {
  const auto index = static_cast<std::size_t>(rank.value);
  return rank.value >= 0 && index < nodes_.size() ? &nodes_[index] : nullptr;
}

bool NodeFailures::note(NodeRank rank, const NodeName& name, std::string reason) {
  Suspect& failed = failed_[name.key];
  if (!failed.reasons.empty() && failed.reasons.back() == reason) {
    return false;  // another agent of the same machine has reported it
  }
  failed.node = rank;
  failed.host = name.host;
  failed.reasons.push_back(std::move(reason));
  if (failed.reasons.size() > Suspect::kMostReasons) {
    failed.reasons.erase(failed.reasons.begin());
  }
  ++failed.failures;
  has_barred_ = has_barred_ || is_barred(name);
  return failed.failures == kSuspectFrom;
}

const Suspect* NodeFailures::find(const NodeName& name) const {
  const auto found = failed_.find(name.key);
  return found == failed_.end() ? nullptr : &found->second;
}

std::string NodeFailures::describe(const NodeName& name) const {
  const Suspect* const failed = find(name);
  return failed == nullptr || failed->failures < kSuspectFrom ? "" : describe_reasons(*failed);
}

bool NodeFailures::is_barred(const NodeName& name) const {
  const Suspect* const failed = find(name);
  return most_ > 0 && failed != nullptr && failed->failures >= most_;
}

const BadNode* NodeFailures::find_listed(const NodeName& name) const {
  const auto found = std::ranges::find_if(
      listed_, [&](const BadNode& bad) { return !name.machine.empty() && is_same_name(bad.machine, name.machine); });
  return found == listed_.end() ? nullptr : &*found;
}

std::vector<Suspect> NodeFailures::suspects() const {
  std::vector<Suspect> found;
  for (const auto& [key, failed] : failed_) {
    if ((failed.failures >= kSuspectFrom || failed.is_left_out) && found.size() < kMostSuspects) {
      found.push_back(failed);
    }
  }
  return found;
}

}  // namespace muster::gang
