// Nodes of an MPI job agree on how its ranks start.
#include "exchange/startup_values.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Reports = std::vector<MethodReport>;

std::string write_methods(const Reports& reports) {
  return contribution_of<MpiStartValue>(reports).bytes;
}

/// A node's report on the start methods "pmix" and "agent"; empty: the method works.
std::string reports(const std::string& of_pmix, const std::string& of_agent) {
  return write_methods(Reports{MethodReport{"pmix", of_pmix}, MethodReport{"agent", of_agent}});
}

Result<std::string> merge(const std::vector<std::string>& bytes) {
  std::vector<gang::NodePart> parts;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    parts.push_back({NodeRank{static_cast<int>(i)}, "", bytes[i]});
  }
  return key_of<MpiStartValue>().merge(parts);
}

TEST(ExchangedWays, TakesTheFirstThatWorksEverywhere) {
  const auto agreed = merge({reports("", ""), reports("no library", "")});

  ASSERT_TRUE(agreed);
  EXPECT_EQ(read_agreed<MpiStartValue>(*agreed)->index, 1U);
  EXPECT_EQ(read_agreed<MpiStartValue>(*agreed)->why_not,
            std::vector<std::string>{"pmix does not work on node 1: no library"});
}

TEST(ExchangedWays, HasNothingToSayWhereTheFirstWorks) {
  const auto agreed = merge({reports("", "no mpirun")});

  EXPECT_EQ(read_agreed<MpiStartValue>(*agreed)->index, 0U);
  EXPECT_TRUE(read_agreed<MpiStartValue>(*agreed)->why_not.empty());
}

TEST(ExchangedWays, ReportsWhyNoMethodWorks) {
  const auto agreed = merge({reports("no library", ""), reports("", "no mpirun")});

  EXPECT_EQ(agreed.error().kind, ErrorKind::BadData);
  EXPECT_EQ(agreed.error().message,
            "no way to start ranks of MPI works on all nodes: pmix does not work on node 0: no library; "
            "agent does not work on node 1: no mpirun");
}

TEST(ExchangedWays, RefusesNodesWithDifferentGivenMethods) {
  const auto agreed = merge({reports("", ""), write_methods(Reports{MethodReport{"agent", ""}})});

  EXPECT_EQ(agreed.error().message,
            "the nodes were given different --mpi-start, or options for mpirun: node 0 has 2 ways, "
            "node 1 has 1");
}

TEST(ExchangedWays, RefusesTornReports) {
  const std::vector<gang::NodePart> parts{{NodeRank{0}, "", ""}};

  EXPECT_EQ(key_of<MpiStartValue>().merge(parts).error().message,
            "of node 0 is missing or torn: no JSON: incomplete JSON");
  EXPECT_FALSE(read_agreed<MpiStartValue>("{"));
}

}  // namespace
}  // namespace muster
