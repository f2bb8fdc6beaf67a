// The local address and interface from which a route starts. Interfaces other than loopback: tests/cluster.
#include "environment/local_host.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(LocalEnd, TowardsLoopbackIsTheLoopbackInterface) {
  EXPECT_EQ(local_end_towards("127.0.0.1").address, "127.0.0.1");
  EXPECT_EQ(local_end_towards("127.0.0.1").interface, "lo");
  EXPECT_EQ(local_end_towards("127.3.2.1").interface, "lo") << "no interface has that address";
}

TEST(LocalEnd, OfVersionSixIsFoundWhereThereIsOne) {
  const LocalEnd own = local_end_towards("::1");
  if (own.address == "::1") {
    EXPECT_EQ(own.interface, "lo");
  } else {
    EXPECT_EQ(own.address, "127.0.0.1") << "this machine has no version 6";
    EXPECT_EQ(own.interface, "");
  }
}

TEST(LocalEnd, TowardsANameIsWhereThisNetworkIsLeft) {
  const LocalEnd own = local_end_towards("no-address.test");
  EXPECT_FALSE(own.address.empty());
}

}  // namespace
}  // namespace muster
