#include "preflight/read_names.hpp"

#include <gtest/gtest.h>

namespace muster::preflight {
namespace {

using Texts = std::vector<std::string>;

TEST(LeadersName, IsTheSameInAnyOrderAndWithEitherVersion) {
  EXPECT_EQ(describe_leader({"10.0.0.2", "10.0.0.1"}, {}), "10.0.0.1 10.0.0.2");
  EXPECT_EQ(describe_leader({"fd00::1", "10.0.0.1"}, {}), "10.0.0.1");
  EXPECT_EQ(describe_leader({"10.0.0.1", "fd00::1"}, {}), "10.0.0.1");
  EXPECT_EQ(describe_leader({"fd00::2", "fd00::1"}, {}), "fd00::1 fd00::2");
  EXPECT_EQ(describe_leader({}, {}), "no address");
}

TEST(LeadersName, IsNotComparedOnTheLeader) {
  EXPECT_EQ(describe_leader({"127.0.1.1"}, {}), kNotKnown) << "as Debian writes it";
  EXPECT_EQ(describe_leader({"::1", "127.0.0.1"}, {}), kNotKnown);
  EXPECT_EQ(describe_leader({"10.0.0.1", "172.17.0.1"}, {"172.17.0.1"}), kNotKnown);
}

TEST(OwnName, LeadsToAnAddressAndBack) {
  EXPECT_EQ(describe_own("gpu-3", {"10.0.0.3"}, {"gpu-3.cluster.local"}), "resolves");
  EXPECT_EQ(describe_own("gpu-3.cluster.local", {"10.0.0.3", "fd00::3"}, {"", "GPU-3"}), "resolves");
  EXPECT_EQ(describe_own("gpu-3", {"127.0.1.1"}, {}), "resolves") << "as Debian writes it";
  EXPECT_EQ(describe_own("gpu-3", {}, {}), "no address");
  EXPECT_EQ(describe_own("gpu-3", {"10.0.0.3"}, {""}), "address without a name");
  EXPECT_EQ(describe_own("gpu-3", {"10.0.0.3"}, {"gpu-30"}), "address of another name");
}

TEST(ReadNames, LooksUpNoAddress) {
  EXPECT_FALSE(read_names("127.0.0.1", "localhost").texts.contains("leader's name"));
  const Facts facts = read_names("localhost", "localhost");
  EXPECT_EQ(facts.texts.at("leader's name"), kNotKnown);
  EXPECT_EQ(facts.texts.at("own name"), "resolves");
}

}  // namespace
}  // namespace muster::preflight
