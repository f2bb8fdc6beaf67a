#include "modes/ssh_files.hpp"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

using Names = std::vector<std::string>;

TEST(NameApart, LeavesNamesThatDiffer) {
  EXPECT_EQ(name_apart({"w-0.job.svc", "w-1.job.svc"}), (Names{"w-0.job.svc", "w-1.job.svc"}));
}

TEST(NameApart, GivesNodesOfOneMachineNamesOfTheirOwn) {
  EXPECT_EQ(name_apart({"vm", "vm", "", "vm"}), (Names{"vm", "vm-node1", "node2", "vm-node3"}));
}

TEST(NameApart, GivesNoNameThatANodeHas) {
  EXPECT_EQ(name_apart({"vm-node2", "vm", "vm"}), (Names{"vm-node2", "vm", "vm-node2-node2"}));
}

TEST(NameApart, CallsOnlyTheNodeOfMpirunLocalhost) {
  EXPECT_EQ(name_apart({"localhost", "localhost"}), (Names{"localhost", "localhost-node1"}));
  EXPECT_EQ(name_apart({"a", "localhost"}), (Names{"a", "localhost-node1"}));
}

TEST(Hostfile, KeepsNamesWhole) {
  const std::string text = write_hostfile({{"10.0.0.1", {}, 8, "w-0.job.svc"}, {"10.0.0.2", {}, 4, "w-1.job.svc"}});
  EXPECT_EQ(text, "w-0.job.svc slots=8\nw-1.job.svc slots=4\n");
  EXPECT_EQ(find_in_hostfile(text, "w-0.job.svc"), 0);
  EXPECT_EQ(find_in_hostfile(text, "w-1.job.svc"), 1);
  EXPECT_EQ(find_in_hostfile(text, "w-1"), -1);
  EXPECT_EQ(find_in_hostfile("", "w-1"), -1);
  EXPECT_EQ(find_in_hostfile("alone", "alone"), 0);
}

TEST(CommonNetworks, IsTheSmallestThatHasAll) {
  EXPECT_EQ(common_networks({"10.0.0.1", "10.0.0.2"}), "10.0.0.0/30");
  EXPECT_EQ(common_networks({"10.77.0.10", "10.77.3.11"}), "10.77.0.0/22");
  EXPECT_EQ(common_networks({"10.0.0.1"}), "10.0.0.1/32");
  EXPECT_EQ(common_networks({"127.0.0.1", "127.0.0.1"}), "127.0.0.1/32");
}

TEST(CommonNetworks, AreTheAddressesWhereTheyHaveLittleInCommon) {
  EXPECT_EQ(common_networks({"10.0.0.1", "192.168.0.1"}), "10.0.0.1/32,192.168.0.1/32");
}

TEST(CommonNetworks, AreNoneForNamesAndForVersionSix) {
  EXPECT_EQ(common_networks({"10.0.0.1", "w-1"}), "");
  EXPECT_EQ(common_networks({"fd00::1"}), "");
  EXPECT_EQ(common_networks({}), "");
}

TEST(NamedInterfaces, AreThoseThatAreHere) {
  const auto found = find_interfaces("eth0,bond0,,ib0,bond1", {"lo", "eth0", "ib0"});
  EXPECT_EQ(found.here, "eth0,ib0");
  EXPECT_EQ(found.missing, "bond0,bond1");
  EXPECT_EQ(find_interfaces("", {"eth0"}).here, "");
}

}  // namespace
}  // namespace muster::mpi
