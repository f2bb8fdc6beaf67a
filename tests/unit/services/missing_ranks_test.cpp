// Ranks that have not come yet are named where one can know which they are.
#include "fake_host.hpp"
#include "services/torch_store/torch_store_service.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string missing(const std::vector<store::Process>& arrived, const std::vector<gang::NodePlace>& nodes) {
  return describe_missing(arrived, nodes, RankedHost());
}

TEST(MissingRanks, AreNamedByPidsOnThisMachine) {
  EXPECT_EQ(missing({{"127.0.0.1", 100}, {"10.0.0.1", 102}}, {{"10.0.0.1", 4}}), "ranks 1, 3");
  EXPECT_EQ(missing({{"127.0.0.1", 100}}, {{"10.0.0.1", 2}}), "rank 1");
  EXPECT_EQ(missing({{"127.0.0.1", 100}, {"127.0.0.1", 101}}, {{"10.0.0.1", 2}}), "");
}

TEST(MissingRanks, AreThoseOfAddressesWithTooFewClients) {
  EXPECT_EQ(missing({{"127.0.0.1", 100}, {"10.0.0.3", 7}, {"10.0.0.3", 8}},
                    {{"10.0.0.1", 2}, {"10.0.0.2", 2}, {"10.0.0.3", 2}}),
            "ranks 1-3");
}

TEST(MissingRanks, AreCountedWhereOnlyTheirNumberIsKnown) {
  const std::vector<gang::NodePlace> nodes = {{"10.0.0.1", 1}, {"10.0.0.2", 4}};
  EXPECT_EQ(missing({{"127.0.0.1", 100}, {"10.0.0.2", 7}}, nodes), "3 of ranks 1-4 (10.0.0.2)");
  EXPECT_EQ(missing({{"10.0.0.2", 7}}, nodes), "rank 0 and 3 of ranks 1-4 (10.0.0.2)");
  // Without a pid, as before torch 2.5.
  EXPECT_EQ(missing({{"127.0.0.1", {}}}, {{"10.0.0.1", 2}}), "1 of ranks 0-1 (10.0.0.1)");
}

TEST(MissingRanks, ASecondProcessOfARankIsNotTakenForAnother) {
  struct SameRank final : public FakeHost {
    std::optional<int> rank_of(std::uint32_t /*pid*/) const override { return 0; }
  };
  EXPECT_EQ(describe_missing({{"127.0.0.1", 1}, {"127.0.0.1", 2}}, {{"10.0.0.1", 4}}, SameRank()),
            "2 of ranks 1-3 (10.0.0.1)");
}

}  // namespace
}  // namespace muster
