// Fleets of nodes whose links scatter as those of shared machines do, with one node or none that is bad.
#include "preflight/link_judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace muster::preflight {
namespace {

using gang::LinkResult;
using gang::NodeLinkResults;

constexpr int kGigabit = 1'000'000;

/// The result of a link, as both ends tell it.
using MakeLink = std::function<std::optional<LinkResult>(std::size_t one, std::size_t other)>;

struct LinkFleet {
  gang::LinkRounds rounds;
  std::vector<NodeLinkResults> told;
};

const LinkResult kSilent{.is_silent = true};

LinkFleet make_link_fleet(std::size_t nodes, const MakeLink& make) {
  LinkFleet fleet{gang::make_link_rounds(nodes), {}};
  for (std::size_t i = 0; i < nodes; ++i) {
    fleet.told.push_back({NodeRank{static_cast<int>(i)}, "gpu-" + std::to_string(i),
                          gang::LinkResults{1, std::vector<std::optional<LinkResult>>(fleet.rounds.size())}, "",
                          "10.0.0." + std::to_string(i)});
  }
  for (std::size_t round = 0; round < fleet.rounds.size(); ++round) {
    for (const auto& [one, other] : fleet.rounds[round]) {
      fleet.told[one].results->rounds[round] = make(one, other);
      fleet.told[other].results->rounds[round] = make(one, other);
    }
  }
  return fleet;
}

std::string named(const LinkFleet& fleet) {
  std::string text;
  for (const Outlier& outlier : judge_links(fleet.told, fleet.rounds).outliers) {
    text += "node " + to_string(outlier.node) + " (" + outlier.host + ") of " + std::to_string(outlier.others + 1) +
            ": " + outlier.facts + "\n";
  }
  return text;
}

/// 24 Gb/s and 0.1 ms, scattered by a third to three times of it where processes wait for CPUs.
LinkResult scattered(std::mt19937& random) {
  std::lognormal_distribution<double> scatter(0, 0.4);
  return {static_cast<int>(100 * scatter(random)), static_cast<int>(24.0 * kGigabit * scatter(random)),
          static_cast<int>(100 * scatter(random))};
}

std::string named_beside(std::size_t nodes, std::size_t bad, const std::function<void(LinkResult&)>& harm,
                         unsigned seed) {
  std::mt19937 random(seed);
  return named(make_link_fleet(nodes, [&](std::size_t one, std::size_t other) {
    LinkResult link = scattered(random);
    if (one == bad || other == bad) {
      harm(link);
    }
    return std::optional(link);
  }));
}

TEST(LinkJudge, NamesASlowNode) {
  const LinkFleet fleet = make_link_fleet(64, [](std::size_t one, std::size_t other) {
    return LinkResult{100, one == 17 || other == 17 ? kGigabit * 9 / 10 : 24 * kGigabit, 0};
  });
  EXPECT_EQ(named(fleet), "node 17 (gpu-17) of 64: link throughput 0.90 Gb/s (24.00 Gb/s) in 6 of 6 rounds\n");
}

TEST(LinkJudge, NamesWhateverIsBadOnce) {
  const LinkFleet fleet = make_link_fleet(4, [](std::size_t one, std::size_t other) {
    const bool is_bad = one == 2 || other == 2;
    return LinkResult{is_bad ? 20'100 : 100, is_bad ? 5'000 : 24 * kGigabit, is_bad ? 21'000 : 0};
  });
  EXPECT_EQ(
      named(fleet),
      "node 2 (gpu-2) of 4: link latency 20.10 ms (0.10 ms) in 3 of 3 rounds, link loss 2.10 % (0.00 %) in 3 of 3 "
      "rounds, link throughput 5.00 Mb/s (24.00 Gb/s) in 3 of 3 rounds\n");
}

TEST(LinkJudge, NamesABadNodeAloneInFleetsThatScatter) {
  const std::vector<std::pair<std::string, std::function<void(LinkResult&)>>> harms = {
      {"link throughput", [](LinkResult& link) { link.throughput /= 40; }},
      {"link latency", [](LinkResult& link) { link.latency += 20'000; }},
      {"link loss", [](LinkResult& link) { link.loss += 20'000; }}};
  for (const auto& [what, harm] : harms) {
    for (unsigned seed = 0; seed < 100; ++seed) {
      const std::size_t nodes = 3 + seed % 61;
      const std::size_t bad = seed % nodes;
      const std::string text = named_beside(nodes, bad, harm, seed);
      EXPECT_TRUE(text.starts_with("node " + std::to_string(bad) + " ") && text.find(what) != std::string::npos)
          << nodes << " nodes, seed " << seed << ": " << text;
      EXPECT_EQ(text.find("\nnode"), std::string::npos) << text;
    }
  }
}

TEST(LinkJudge, NamesNobodyInFleetsThatScatter) {
  const auto nothing = [](LinkResult& /*link*/) {};
  for (unsigned seed = 0; seed < 300; ++seed) {
    EXPECT_EQ(named_beside(3 + seed % 61, 0, nothing, seed), "") << seed;
  }
}

TEST(LinkJudge, NamesNobodyForASingleBadLink) {
  const LinkFleet fleet = make_link_fleet(8, [](std::size_t one, std::size_t other) {
    return LinkResult{100, (one == 0 && other == 7) || (one == 7 && other == 0) ? 1 : 24 * kGigabit, 0};
  });
  EXPECT_EQ(named(fleet), "");
}

TEST(LinkJudge, NamesNobodyWhereTwoGroupsDiffer) {
  const LinkFleet fleet = make_link_fleet(16, [](std::size_t one, std::size_t other) {
    return LinkResult{100, one < 5 || other < 5 ? kGigabit : 24 * kGigabit, 0};
  });
  EXPECT_EQ(named(fleet), "");
}

/// On a machine that has no time for its processes.
TEST(LinkJudge, NamesNobodyWhereManyLinksAreBad) {
  const LinkFleet fleet = make_link_fleet(16, [](std::size_t one, std::size_t other) {
    return LinkResult{100, one == 3 || other == 3 || (one + other) % 3 == 0 ? 0 : kGigabit, 0};
  });
  EXPECT_EQ(named(fleet), "");
}

TEST(LinkJudge, NamesANodeThatNobodyReaches) {
  const auto all_but = [](std::size_t bad) {
    return [bad](std::size_t one, std::size_t other) {
      return one == bad || other == bad ? kSilent : LinkResult{100, kGigabit, 0};
    };
  };
  EXPECT_EQ(named(make_link_fleet(16, all_but(5))), "node 5 (gpu-5) of 16: links do not answer in 4 of 4 rounds\n");
  EXPECT_EQ(named(make_link_fleet(3, all_but(2))), "node 2 (gpu-2) of 3: links do not answer in 2 of 2 rounds\n");
  EXPECT_EQ(named(make_link_fleet(16, [](std::size_t, std::size_t) { return kSilent; })), "");
}

TEST(LinkJudge, CountsOnlyTheRoundsThatHaveAResult) {
  LinkFleet fleet = make_link_fleet(16, [](std::size_t one, std::size_t other) {
    return LinkResult{100, kGigabit, one == 5 || other == 5 ? 30'000 : 0};
  });
  fleet.told[5].results->rounds[1].reset();
  EXPECT_EQ(named(fleet), "node 5 (gpu-5) of 16: link loss 3.00 % (0.00 %) in 3 of 4 rounds\n");
}

TEST(LinkJudge, LeavesOutANodeThatHasToldNothing) {
  LinkFleet fleet = make_link_fleet(16, [](std::size_t one, std::size_t other) {
    return one == 5 || other == 5 ? kSilent : LinkResult{100, kGigabit, 0};
  });
  fleet.told[5].results.reset();
  EXPECT_EQ(named(fleet), "");
}

/// A node can harm its own links alone, and cannot make those of others worse or its own better than they are.
TEST(LinkJudge, BelievesTheWorseEnd) {
  LinkFleet fleet = make_link_fleet(16, [](std::size_t, std::size_t) { return LinkResult{100, 24 * kGigabit, 0}; });
  for (auto& result : fleet.told[3].results->rounds) {
    result = LinkResult{10'000'000, 0, 1'000'000};
  }
  EXPECT_TRUE(named(fleet).starts_with("node 3 (gpu-3) of 16: link latency 10000.00 ms")) << named(fleet);
  for (auto& result : fleet.told[3].results->rounds) {
    result = LinkResult{0, 2'147'483'647, 0};
  }
  EXPECT_EQ(named(fleet), "");
  for (const std::optional<LinkResult>& lie : {std::optional<LinkResult>(), std::optional(kSilent)}) {
    fleet.told[3].results->rounds.assign(1'000, lie);
    EXPECT_EQ(named(fleet), "") << "its partners do not say so";
  }
}

/// As in a run on a crowded machine: node 13 was late for all of its partners, and they waited for it.
TEST(LinkJudge, NamesNoNodeThatWasLateForItsPartners) {
  LinkFleet fleet = make_link_fleet(16, [](std::size_t one, std::size_t other) {
    return one == 13 || other == 13 ? kSilent : LinkResult{100, kGigabit, 0};
  });
  fleet.told[13].results->rounds.assign(4, std::nullopt);
  const gang::LinkVerdict verdict = judge_links(fleet.told, fleet.rounds);
  EXPECT_TRUE(verdict.outliers.empty());
  EXPECT_EQ(verdict.unknown, std::vector{NodeRank{13}});
  fleet.told[13].results->rounds[2] = kSilent;  // in one round it was there
  EXPECT_EQ(named(fleet), "");
  fleet.told[13].results->rounds[3] = kSilent;
  EXPECT_EQ(named(fleet), "node 13 (gpu-13) of 16: links do not answer in 2 of 4 rounds\n");
}

// --- Racks ----------------------------------------------------------------------------------------

/// Slow between the nodes of a rack and the others; the rack has some places of the fleet.
MakeLink make_racks(std::vector<bool> is_in_rack, LinkResult between) {
  return [is_in_rack = std::move(is_in_rack), between](std::size_t one, std::size_t other) {
    return is_in_rack[one] == is_in_rack[other] ? LinkResult{100, 24 * kGigabit, 0} : between;
  };
}

std::vector<bool> some_places(std::size_t nodes, std::size_t rack, unsigned seed) {
  std::vector<bool> places(nodes);
  std::fill_n(places.begin(), rack, true);
  std::mt19937 random(seed);
  std::shuffle(places.begin(), places.end(), random);
  return places;
}

/// As the leader does: suspects measure the links between them.
gang::LinkVerdict judge_with_suspects(LinkFleet fleet, const MakeLink& make) {
  gang::LinkVerdict verdict = judge_links(fleet.told, fleet.rounds);
  std::vector<NodeRank> suspects = verdict.doubtful;
  for (const Outlier& outlier : verdict.outliers) {
    suspects.push_back(outlier.node);
  }
  if (verdict.doubtful.empty()) {
    return verdict;
  }
  for (const auto& pairs : gang::make_link_rounds(suspects.size())) {
    auto& round = fleet.rounds.emplace_back();
    for (const gang::LinkPair& pair : pairs) {
      const auto one = static_cast<std::size_t>(suspects[pair.connects].value);
      const auto other = static_cast<std::size_t>(suspects[pair.listens].value);
      round.push_back({one, other});
      for (const std::size_t node : {one, other}) {
        fleet.told[node].results->rounds.resize(fleet.rounds.size());
        fleet.told[node].results->rounds.back() = make(one, other);
      }
    }
  }
  return judge_links(fleet.told, fleet.rounds);
}

TEST(LinkJudge, NamesNobodyOfTwoRacks) {
  const std::vector<std::pair<std::size_t, std::size_t>> fleets = {{16, 2}, {16, 3}, {16, 4}, {16, 8},
                                                                   {64, 2}, {64, 4}, {64, 7}, {64, 32}};
  for (const LinkResult& between : {LinkResult{100, kGigabit, 0}, LinkResult{9'000, 24 * kGigabit, 0}, kSilent}) {
    for (const auto& [nodes, rack] : fleets) {
      for (unsigned seed = 0; seed < 20; ++seed) {
        const MakeLink make = make_racks(some_places(nodes, rack, seed), between);
        const gang::LinkVerdict verdict = judge_with_suspects(make_link_fleet(nodes, make), make);
        EXPECT_TRUE(verdict.outliers.empty() && verdict.doubtful.empty()) << nodes << ", " << rack << ", " << seed;
        EXPECT_TRUE(verdict.mixed != "" || rack == nodes / 2) << nodes << ", " << rack << ", " << seed;
      }
    }
  }
}

TEST(LinkJudge, NamesANodeThatIsARackAlone) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const std::vector<bool> places = some_places(16, 1, seed);
    const MakeLink make = make_racks(places, {100, kGigabit, 0});
    const gang::LinkVerdict verdict = judge_with_suspects(make_link_fleet(16, make), make);
    ASSERT_EQ(verdict.outliers.size(), 1U) << seed;
    EXPECT_TRUE(places[static_cast<std::size_t>(verdict.outliers[0].node.value)]);
    EXPECT_EQ(verdict.mixed, "");
  }
}

TEST(LinkJudge, NamesTwoBadNodesWhenTheLinkBetweenThemIsBad) {
  for (const LinkResult& bad : {LinkResult{100, kGigabit, 0}, kSilent}) {
    const MakeLink make = [&](std::size_t one, std::size_t other) {
      return one == 3 || other == 3 || one == 8 || other == 8 ? bad : LinkResult{100, 24 * kGigabit, 0};
    };
    const LinkFleet fleet = make_link_fleet(16, make);
    EXPECT_EQ(judge_links(fleet.told, fleet.rounds).doubtful, (std::vector{NodeRank{3}, NodeRank{8}}));
    EXPECT_EQ(judge_with_suspects(fleet, make).outliers.size(), 2U);
  }
}

TEST(LinkJudge, TellsTheLinksOfTwoRacks) {
  const LinkFleet fleet = make_link_fleet(16, make_racks(some_places(16, 8, 1), {100, kGigabit, 0}));
  EXPECT_EQ(judge_links(fleet.told, fleet.rounds).mixed, "link throughput 1.00 Gb/s on 16 links and 24.00 Gb/s on 16");
  const LinkFleet closed = make_link_fleet(16, make_racks(some_places(16, 8, 1), kSilent));
  EXPECT_EQ(judge_links(closed.told, closed.rounds).mixed, "no answer on 16 links and an answer on 16");
}

TEST(LinkJudge, JudgesThousandsInATurn) {
  constexpr std::size_t kThousands = 4'096;
  std::mt19937 random(1);
  const LinkFleet fleet = make_link_fleet(kThousands, [&](std::size_t one, std::size_t other) {
    LinkResult link = scattered(random);
    link.throughput /= one == 9 || other == 9 ? 40 : 1;
    return link;
  });
  EXPECT_TRUE(named(fleet).starts_with("node 9 "));
}

TEST(LinkJudge, DoesNotNameAHeadOfAnotherKind) {
  LinkFleet fleet = make_link_fleet(8, [](std::size_t one, std::size_t other) {
    return std::optional(LinkResult{100, one == 0 || other == 0 ? kGigabit : 24 * kGigabit, 0});
  });
  for (NodeLinkResults& node : fleet.told) {
    node.kind = "8 ";
  }
  EXPECT_NE(named(fleet), "");
  fleet.told[0].kind = "0 ";
  EXPECT_EQ(named(fleet), "");
}

}  // namespace
}  // namespace muster::preflight
