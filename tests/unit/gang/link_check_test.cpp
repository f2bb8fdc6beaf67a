#include "gang/link_check.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace muster::gang {
namespace {

TEST(LinkRounds, PairEachNodeOnceARoundAndNoPairTwice) {
  for (std::size_t nodes = 3; nodes <= 130; ++nodes) {
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    for (const auto& round : make_link_rounds(nodes)) {
      std::set<std::size_t> busy;
      for (const auto& [one, other] : round) {
        EXPECT_TRUE(one < nodes && other < nodes);
        EXPECT_TRUE(busy.insert(one).second && busy.insert(other).second) << nodes;
        EXPECT_TRUE(pairs.insert(std::minmax(one, other)).second) << nodes;
      }
      EXPECT_EQ(busy.size(), nodes - nodes % 2) << "one rests where the number is odd";
    }
  }
}

TEST(LinkRounds, GrowWithTheLogarithm) {
  const auto rounds = [](std::size_t nodes) { return make_link_rounds(nodes).size(); };
  EXPECT_EQ(rounds(3), 3U);
  EXPECT_EQ(rounds(4), 3U);
  EXPECT_EQ(rounds(8), 3U);
  EXPECT_EQ(rounds(16), 4U);
  EXPECT_EQ(rounds(17), 5U);
  EXPECT_EQ(rounds(1'024), 10U);
  EXPECT_EQ(rounds(70'000), kMostLinkRounds);
}

TEST(LinkLines, AreReadAsTheyAreWritten) {
  const std::string key(32, 'f');
  EXPECT_EQ(to_text(LinkListen{3, "fd00::1"}), "listen 3 fd00::1");
  EXPECT_EQ(parse_link_listen("listen 3 fd00::1")->address, "fd00::1");
  const auto port = parse_link_port(to_text(LinkPort{3, 7'001, key}));
  ASSERT_TRUE(port);
  EXPECT_EQ(port->port, 7'001);
  EXPECT_EQ(port->key, key);
  LinkPlan plan{3, {{}, {LinkStep::Kind::Listen}, {LinkStep::Kind::Connect, "10.0.0.3", 7'001, "k"}}};
  EXPECT_EQ(to_text(plan), "measure 3 rest wait 10.0.0.3,7001,k");
  const auto read = parse_link_plan(to_text(plan));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), to_text(plan));
  const LinkResults results{3, {LinkResult{120, 9'400'000, 2'100}, std::nullopt, LinkResult{.is_silent = true}}};
  EXPECT_EQ(to_text(results), "measured 3 120,9400000,2100 none silent");
  EXPECT_TRUE(parse_link_results(to_text(results))->rounds[2]->is_silent);
  EXPECT_EQ(to_text(LinkRefusal{3}), "cannot 3");
  EXPECT_EQ(parse_link_refusal("cannot 3")->check, 3);
  EXPECT_FALSE(parse_link_refusal("cannot"));
  EXPECT_FALSE(parse_link_refusal("cannot 3 4"));
  EXPECT_EQ(to_text(*parse_link_results(to_text(results))), to_text(results));
  EXPECT_TRUE(parse_link_results("measured 3")->rounds.empty());
}

TEST(LinkLines, OfTheLongestPlanFitIntoAQuestion) {
  constexpr std::size_t kMostSentence = 2'048;
  const LinkStep longest{LinkStep::Kind::Connect, std::string(39, 'f'), 10'000, std::string(32, 'f')};
  const LinkPlan plan{2'147'483'647, std::vector<LinkStep>(kMostLinkRounds, longest)};
  EXPECT_LT(to_text(plan).size(), kMostSentence);
  EXPECT_TRUE(parse_link_plan(to_text(plan)));
}

TEST(LinkLines, OfStrangersAreNotRead) {
  std::string many = "measured 1";
  for (int i = 0; i < 1'000'000; ++i) {
    many += " none";
  }
  for (const std::string& text : std::vector<std::string>{
           "", " ", "measured", "measured 1 NaN,1,1", "measured 1 -1,1,1", "measured 1 1e9,1,1", "measured 1 1,1",
           "measured 1 1,1,1,1", "measured 1 1,1,1000001", "measured 1 99999999999,1,1", "measured 1  none",
           "measured -1 none", "measured 1 \x1b[31m", many, "measured 1 " + std::string(1U << 20U, '1')}) {
    EXPECT_FALSE(parse_link_results(text)) << text.substr(0, 80);
  }
  for (const std::string& text :
       std::vector<std::string>{"", "listens 1 0 key", "listens 1 22 key", "listens 1 65536 key", "listens 1 7001 ",
                                "listens 1 7001 k,k", "listens 1 7001 k k", "listens 1 7001 " + std::string(33, 'k')}) {
    EXPECT_FALSE(parse_link_port(text)) << text;
  }
  for (const char* const text :
       {"listen 1", "listen 1 ", "listen 1 fe80::1%eth0", "listen x 10.0.0.1", "listen 1 a b"}) {
    EXPECT_FALSE(parse_link_listen(text)) << text;
  }
  for (const char* const text : {"measure", "measure 1 run", "measure 1 10.0.0.3,7001", "measure 1 10.0.0.3,0,key",
                                 "measure 1 ,7001,key", "measure 1 10.0.0.3,7001,"}) {
    EXPECT_FALSE(parse_link_plan(text)) << text;
  }
}

}  // namespace
}  // namespace muster::gang
