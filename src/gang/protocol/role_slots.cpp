// Adds up workers by the names of their roles.
#include "gang/protocol/role_slots.hpp"

#include <map>
#include <string>

namespace muster::gang {

std::vector<RoleSlots> find_role_slots(const std::vector<NodeFacts>& nodes) {
  std::map<std::string, int> slots;
  std::vector<RoleSlots> found;
  for (const NodeFacts& node : nodes) {
    int& so_far = slots[node.role_name];
    found.push_back({so_far, 0});
    so_far += node.slots;
  }
  if (slots.size() < 2) {
    return {};
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    found[i].total = slots.at(nodes[i].role_name);
  }
  return found;
}

}  // namespace muster::gang
