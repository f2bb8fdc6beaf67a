// Workers are counted over the nodes whose role has the same name.
#include "gang/protocol/roster.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

NodeFacts node_of(const std::string& role, int slots) {
  NodeFacts node;
  node.role_name = role;
  node.slots = slots;
  return node;
}

TEST(RoleSlots, AreSummedPerRoleNameInRankOrder) {
  EXPECT_EQ(find_role_slots({node_of("trainer", 2), node_of("reader", 1), node_of("trainer", 3), node_of("", 4)}),
            (std::vector<RoleSlots>{{0, 5}, {0, 1}, {2, 5}, {0, 4}}));
}

TEST(RoleSlots, AreOmittedWhereAllRolesAreTheSame) {
  EXPECT_TRUE(find_role_slots({node_of("default", 2), node_of("default", 1)}).empty());
  EXPECT_TRUE(find_role_slots({}).empty());
}

}  // namespace
}  // namespace muster::gang
