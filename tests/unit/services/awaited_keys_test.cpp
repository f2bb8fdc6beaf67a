// Messages about the keys that hanging ranks wait for.
#include "fake_host.hpp"
#include "services/torch_store/torch_store_service.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string described(const store::AwaitedKeys& awaited) {
  return describe_awaited(awaited, "10.0.0.1", RankedHost());
}

TEST(AwaitedKeys, AreListedWithTheWaitingRanks) {
  EXPECT_EQ(described({{{"/a", 3, {{"127.0.0.1", 102}, {"10.0.0.1", 100}, {"127.0.0.1", 102}}},
                        {"/b", 1, {{"127.0.0.1", 101}}}}}),
            "in the store of the ranks '/a' was waited for by ranks 0, 2, '/b' by rank 1");
  EXPECT_EQ(described({}), "");
}

TEST(AwaitedKeys, OfUnknownClientsAreOnlyCounted) {
  EXPECT_EQ(
      described({{{"/a", 9, {{"127.0.0.1", 100}, {"10.0.0.2", 100}, {"10.0.0.2", 101}, {"127.0.0.1", 7}}}}, false}),
      "in the store of the ranks '/a' was waited for by rank 0 and 2 clients of 10.0.0.2 and 1 "
      "client of 127.0.0.1 and 5 more, and others");
}

TEST(AwaitedKeys, AreFitForALine) {
  const std::string said = described({{{"/\n" + std::string(1'000, 'x'), 1, {{"127.0.0.1", 100}}}}});
  EXPECT_LT(said.size(), 300U);
  EXPECT_EQ(said.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace muster
