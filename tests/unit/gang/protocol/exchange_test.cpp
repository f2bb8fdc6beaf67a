// Values that nodes bring together: who gets what when, and who breaks the rules.
#include "gang/protocol/exchange.hpp"

#include "gang/all_parts.hpp"
#include "gang/protocol/words.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

/// "0@host-0=bytes" of each.
Result<std::string> in_words(const std::vector<NodePart>& parts) {
  std::string text;
  for (const NodePart& part : parts) {
    text += (text.empty() ? "" : " ") + to_string(part.node) + "@" + std::string(part.address) + "=" +
            std::string(part.bytes);
  }
  return text;
}

Result<std::string> refuse_all(const std::vector<NodePart>& parts) {
  return Error{ErrorKind::System, "has none of " + std::to_string(parts.size())};
}

ExchangeKeys keys() {
  return {{"ports", Phase::BeforeStart, 100, 200, in_words},
          {"table", Phase::BeforeStart, 200'000, 1'000'000, all_parts},
          {"never", Phase::BeforeStart, 100, 100, refuse_all},
          {"fence", Phase::WhileRunning, 100, 200, in_words},
          {"modex", Phase::WhileRunning, 200'000, 1'000'000, all_parts},
          {"nothing", Phase::WhileRunning, 100, 100, refuse_all}};
}

/// A leader's exchange and agents 0 to n-1, each with the link of its number.
class Story {
 public:
  explicit Story(int nodes, std::size_t most_held = kMostHeldBytes)
      : exchange(keys(), most_held), agents(static_cast<std::size_t>(nodes), ExchangeClient(keys())) {}

  void keep(std::size_t agent, const std::string& key, std::string bytes) {
    EXPECT_EQ(agents[agent].objection(key, bytes.size()), "");
    EXPECT_FALSE(agents[agent].keep(key, bytes).empty());
    EXPECT_TRUE(agents[agent].keep(key, std::move(bytes)).empty()) << "it is the same";
  }
  void join(std::size_t agent) {
    exchange.add(agent, agents[agent].names());
    for (const Contribute& chunk : agents[agent].introduce()) {
      carry_out(exchange.take(agent, chunk));
    }
  }
  /// Replaces an agent's contribution, also at the leader if the agent has joined.
  void change(std::size_t agent, const std::string& key, const std::string& bytes) {
    for (const Contribute& chunk : agents[agent].keep(key, bytes)) {
      carry_out(exchange.take(agent, chunk));
    }
  }
  void join_all() {
    for (std::size_t agent = 0; agent < agents.size(); ++agent) {
      join(agent);
    }
  }

  /// Starts an attempt and returns what agent `seen` is started with.
  Exchanged start(int attempt, const std::vector<LinkId>& links, std::size_t seen = 0) {
    std::vector<ExchangeNode> nodes;
    for (const LinkId link : links) {
      nodes.push_back({link, "host-" + std::to_string(link)});
    }
    const auto merged = exchange.begin(attempt, nodes);
    if (!merged) {
      error = merged.error().message;
      return {};
    }
    Exchanged values;
    for (const LinkId link : links) {
      for (const Merged& chunk : *merged) {
        EXPECT_TRUE(agents[link].take(chunk));
      }
      Exchanged own = agents[link].start(attempt);
      if (link == seen) {
        values = std::move(own);
      }
    }
    return values;
  }

  void contribute(std::size_t agent, const std::string& key, std::string bytes,
                  const std::vector<NodeRank>& nodes = {}) {
    for (const Contribute& chunk : agents[agent].contribute(key, std::move(bytes), nodes)) {
      carry_out(exchange.take(agent, chunk));
    }
  }
  void lose(LinkId link) { carry_out(exchange.forget(link)); }

  void carry_out(const ExchangeOutcomes& outcomes) {
    for (const ExchangeOutcome& outcome : outcomes) {
      if (const auto* const violation = std::get_if<Violation>(&outcome)) {
        error = std::to_string(violation->link) + ": " + violation->why;
      } else if (const auto* const failed = std::get_if<Error>(&outcome)) {
        error = failed->message;
      } else {
        deliver(std::get<Delivery>(outcome));
      }
    }
  }

  ExchangeServer exchange;
  std::vector<ExchangeClient> agents;
  std::vector<std::string> got;  ///< "1: fence 0 of 2: ..."
  std::string error;

 private:
  void deliver(const Delivery& delivery) {
    for (const LinkId link : delivery.links) {
      for (const Merged& chunk : delivery.chunks) {
        const auto value = agents[link].take(chunk);
        ASSERT_TRUE(value) << value.error().message;
        if (*value) {
          const ValueId& id = (*value)->id;
          got.push_back(std::to_string(link) + ": " + id.key + " " + std::to_string(*id.round) + ": " +
                        (*value)->bytes);
        }
      }
    }
  }
};

using Lines = std::vector<std::string>;

// --- Before the start ---------------------------------------------------------------------------

TEST(ExchangeServer, MergesBeforeTheStartWhatTheNodesOfTheAttemptHave) {
  Story story(3);
  story.keep(0, "ports", "a");
  story.keep(1, "ports", "b");
  story.keep(2, "ports", "c");
  story.join_all();

  EXPECT_EQ(story.start(0, {0, 2}).at("ports"), "0@host-0=a 1@host-2=c");
  EXPECT_EQ(story.start(1, {2, 1, 0}).at("ports"), "0@host-2=c 1@host-1=b 2@host-0=a");
}

TEST(ExchangeServer, IsSilentWithoutContributions) {
  Story story(2);
  story.join_all();
  const auto merged = story.exchange.begin(0, {{0, ""}, {1, ""}});
  ASSERT_TRUE(merged);
  EXPECT_TRUE(merged->empty());
  EXPECT_TRUE(story.start(0, {0, 1}).empty());
}

TEST(ExchangeServer, HasAnEmptyPartOfANodeThatHasContributedNothing) {
  Story story(2);
  story.keep(1, "ports", "b");
  story.join_all();
  EXPECT_EQ(story.start(0, {0, 1}).at("ports"), "0@host-0= 1@host-1=b");
}

TEST(ExchangeServer, NamesMissingContributions) {
  Story story(1);
  story.keep(0, "table", random_bytes(100'000));
  story.keep(0, "ports", "a");
  story.exchange.add(0, story.agents[0].names());
  EXPECT_EQ(story.exchange.missing(0), "'ports', 'table'");
  for (const Contribute& chunk : story.agents[0].introduce()) {
    EXPECT_NE(story.exchange.missing(0), "");
    (void)story.exchange.take(0, chunk);
  }
  EXPECT_EQ(story.exchange.missing(0), "");
  EXPECT_EQ(story.exchange.missing(7), "") << "nobody knows it";
}

TEST(ExchangeServer, MergesWhatWasContributedLast) {
  Story story(2);
  story.keep(0, "ports", "a");
  story.keep(1, "ports", "b");
  story.join_all();
  EXPECT_EQ(story.start(0, {0, 1}).at("ports"), "0@host-0=a 1@host-1=b");

  story.change(1, "ports", "newer");
  story.change(1, "ports", "newest");

  EXPECT_EQ(story.start(1, {0, 1}).at("ports"), "0@host-0=a 1@host-1=newest");
  EXPECT_EQ(story.error, "");
  EXPECT_EQ(story.exchange.held(), 7U);
  EXPECT_EQ(story.agents[1].introduce().size(), 1U) << "another leader is told the newest alone";
}

TEST(ExchangeServer, IsNotReadyWhileAValueIsContributedAnew) {
  Story story(1);
  story.keep(0, "table", random_bytes(100'000));
  story.join_all();
  EXPECT_EQ(story.exchange.missing(0), "");
  for (const Contribute& chunk : story.agents[0].keep("table", random_bytes(120'000))) {
    story.carry_out(story.exchange.take(0, chunk));
    const bool is_over = story.exchange.held() == 120'000U;
    EXPECT_EQ(story.exchange.missing(0), is_over ? "" : "'table'");
  }
  EXPECT_EQ(story.exchange.held(), 120'000U);
}

TEST(ExchangeServer, IsNotReadyBeforeAnUnannouncedValueArrives) {
  Story story(1);
  story.join_all();
  const auto chunks = story.agents[0].keep("table", random_bytes(100'000));
  story.carry_out(story.exchange.take(0, chunks.front()));
  EXPECT_EQ(story.exchange.missing(0), "'table'");
}

TEST(ExchangeServer, GivesEverybodyAllPartsWhereThatIsTheRule) {
  Story story(3);
  const std::vector<std::string> parts = {random_bytes(100'000), "", std::string(100'000, 'x')};
  story.keep(0, "table", parts[0]);
  story.keep(2, "table", parts[2]);
  story.join_all();
  const auto read = read_parts(story.start(0, {0, 1, 2}, 1).at("table"));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, parts);
}

TEST(ExchangeServer, ForgetsALostNode) {
  Story story(2);
  story.keep(0, "ports", "a");
  story.keep(1, "ports", "b");
  story.join_all();
  EXPECT_EQ(story.exchange.held(), 2U);
  story.lose(1);
  EXPECT_EQ(story.exchange.held(), 1U);
  EXPECT_EQ(story.start(0, {0}).at("ports"), "0@host-0=a");
  story.lose(0);
  EXPECT_EQ(story.exchange.held(), 0U);
}

TEST(ExchangeServer, ForgetsALostNodeInTheMiddleOfAValue) {
  Story story(1);
  story.keep(0, "table", random_bytes(100'000));
  story.exchange.add(0, {"table"});
  story.carry_out(story.exchange.take(0, story.agents[0].introduce().front()));
  EXPECT_EQ(story.exchange.held(), 100'000U) << "announced";
  story.lose(0);
  EXPECT_EQ(story.exchange.held(), 0U);
}

TEST(ExchangeServer, ForgetsWhatWasMergedForALeaderThatIsGone) {
  Story story(1);
  story.keep(0, "ports", "a");
  story.join(0);
  const auto merged = story.exchange.begin(0, {{0, "old"}});
  (void)story.agents[0].take(merged->front());
  (void)story.agents[0].introduce();
  EXPECT_TRUE(story.agents[0].start(0).empty());
}

TEST(ExchangeServer, ReportsMissingResultsAtTheStart) {
  Story story(2);
  story.keep(0, "never", "a");
  story.join_all();
  (void)story.start(0, {0, 1});
  EXPECT_EQ(story.error, "'never' has none of 2");
}

TEST(ExchangeServer, LimitsWhatComesOut) {
  Story story(3);
  for (std::size_t agent = 0; agent < 3; ++agent) {
    story.keep(agent, "ports", std::string(100, 'x'));
  }
  story.join_all();
  (void)story.start(0, {0, 1, 2});
  EXPECT_EQ(story.error, "'ports' of 3 nodes is 329 bytes long, expected at most 200");
}

TEST(ExchangeServer, LimitsTheLeadersMemory) {
  Story story(2, 150'000);
  story.keep(0, "table", random_bytes(100'000));
  story.keep(1, "table", random_bytes(50'001));
  story.join(0);
  EXPECT_EQ(story.error, "");
  story.join(1);
  EXPECT_EQ(story.error,
            "'table' of 50001 bytes is too much: all nodes together may contribute 150000 bytes "
            "that are not merged yet");
}

TEST(ExchangeServer, RefusesAnOversizedLocalValue) {
  const ExchangeClient agent(keys());
  EXPECT_EQ(agent.objection("ports", 101),
            "cannot contribute 'ports': it is 101 bytes long, and a node may contribute 100");
  EXPECT_EQ(agent.objection("port", 1), "cannot contribute 'port': no node of this job does");
  EXPECT_EQ(agent.objection("fence", 100), "");
  EXPECT_TRUE(agent.is_before_start("ports"));
  EXPECT_FALSE(agent.is_before_start("fence"));
}

// --- While an attempt runs ----------------------------------------------------------------------

TEST(ExchangeServer, MergesManyRounds) {
  Story story(2);
  story.join_all();
  (void)story.start(0, {0, 1});
  for (int round = 0; round < 100; ++round) {
    story.got.clear();
    story.contribute(1, "fence", "b" + std::to_string(round));
    EXPECT_EQ(story.got, Lines());
    story.contribute(0, "fence", "a");
    const std::string merged = " fence " + std::to_string(round) + ": 0@host-0=a 1@host-1=b" + std::to_string(round);
    EXPECT_EQ(story.got, (Lines{"0:" + merged, "1:" + merged}));
  }
  EXPECT_EQ(story.error, "");
  EXPECT_LT(story.exchange.held(), 1'000U) << "nothing is kept of a round that is over";
}

TEST(ExchangeServer, WaitsOnlyForTheListedNodes) {
  Story story(4);
  story.join_all();
  (void)story.start(0, {3, 2, 1, 0});  // link 1 is node 2
  story.contribute(1, "fence", "b", {{0}, {2}});
  story.contribute(2, "fence", "c", {{1}, {3}});
  story.contribute(3, "fence", "d", {{0}, {2}});
  EXPECT_EQ(story.got, (Lines{"3: fence 0: 0@host-3=d 2@host-1=b", "1: fence 0: 0@host-3=d 2@host-1=b"}));
  story.contribute(3, "fence", "e");  // of all: another group, and its own count of rounds
  story.contribute(3, "fence", "f", {{0}, {2}});
  EXPECT_EQ(story.error, "");
}

TEST(ExchangeServer, DoesNotWaitForALostNode) {
  Story story(3);
  story.join_all();
  (void)story.start(0, {0, 1, 2});
  story.contribute(0, "fence", "a");
  story.contribute(1, "fence", "b");
  story.lose(2);
  EXPECT_EQ(story.got.back(), "1: fence 0: 0@host-0=a 1@host-1=b");
  story.contribute(0, "fence", "c");
  story.contribute(1, "fence", "d");
  EXPECT_EQ(story.got.back(), "1: fence 1: 0@host-0=c 1@host-1=d");
  story.contribute(0, "fence", "e", {{0}, {2}});
  EXPECT_EQ(story.got.back(), "0: fence 0: 0@host-0=e");
}

TEST(ExchangeServer, DropsTheContributionOfANodeLostDuringARound) {
  Story story(3);
  story.join_all();
  (void)story.start(0, {0, 1, 2});
  story.contribute(2, "fence", "c");
  story.lose(2);
  story.contribute(0, "fence", "a");
  story.contribute(1, "fence", "b");
  EXPECT_EQ(story.got.back(), "1: fence 0: 0@host-0=a 1@host-1=b");
}

TEST(ExchangeServer, BeginsEachAttemptWithNewRounds) {
  Story story(2);
  story.join_all();
  (void)story.start(0, {0, 1});
  story.contribute(0, "fence", "old");
  const auto late = story.agents[1].contribute("fence", "late", {});
  story.exchange.end();
  EXPECT_EQ(story.exchange.held(), 0U);
  story.carry_out(story.exchange.take(1, late.front()));  // nothing runs
  (void)story.start(1, {0, 1});
  story.carry_out(story.exchange.take(1, late.front()));  // something else runs
  EXPECT_EQ(story.exchange.held(), 0U);
  story.contribute(0, "fence", "a");
  story.contribute(1, "fence", "b");
  EXPECT_EQ(story.got.back(), "1: fence 0: 0@host-0=a 1@host-1=b");
  EXPECT_EQ(story.error, "");
}

TEST(ExchangeServer, IgnoresNodesOutsideTheAttempt) {
  Story story(3);
  story.join_all();
  (void)story.start(0, {0, 1});
  story.contribute(2, "fence", "c");
  EXPECT_EQ(story.error, "");
  EXPECT_EQ(story.exchange.held(), 0U);
}

TEST(ExchangeServer, ForgetsAHalfValueOfARoundWithItsAttempt) {
  Story story(2);
  story.join_all();
  (void)story.start(0, {0, 1});
  const auto chunks = story.agents[1].contribute("modex", random_bytes(100'000), {});
  story.carry_out(story.exchange.take(1, chunks[0]));
  (void)story.start(1, {0, 1});
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    story.carry_out(story.exchange.take(1, chunks[i]));
  }
  story.contribute(1, "modex", "b");
  story.contribute(0, "modex", "a");
  EXPECT_EQ(story.error, "");
  EXPECT_EQ(story.got.size(), 2U);
}

TEST(ExchangeServer, ReportsWhyARoundHasNoResult) {
  Story story(1);
  story.join(0);
  (void)story.start(0, {0});
  story.contribute(0, "nothing", "a");
  EXPECT_EQ(story.error, "'nothing' has none of 1");
}

// --- Those who break the rules ------------------------------------------------------------------

class Breaches : public ::testing::Test {
 protected:
  void SetUp() override {
    story.join_all();
    (void)story.start(0, {0, 1});
  }
  /// The leader's error when node 1 sends this chunk.
  std::string after(Chunk chunk) {
    story.error.clear();
    story.carry_out(story.exchange.take(1, Contribute{std::move(chunk)}));
    return story.error;
  }
  static Chunk piece_of(ValueId id, std::size_t size = 1) { return split({std::move(id), random_bytes(size)}).front(); }

  Story story{2};
};

TEST_F(Breaches, AreUnknownKeysAndKeysAtTheWrongTime) {
  EXPECT_EQ(after(piece_of({"exec", 0, 0, {}})), "1: contributes under 'exec', which no node of this job does");
  EXPECT_EQ(after(piece_of({"ports", 0, 0, {}})), "1: sent an unexpected value for 'ports' (protocol error)");
  EXPECT_EQ(after(piece_of({"fence", 0, std::nullopt, {}})),
            "1: sent an unexpected value for 'fence' (protocol error)");
}

TEST_F(Breaches, AreTooManyBytes) {
  EXPECT_EQ(after(piece_of({"ports", 0, std::nullopt, {}}, 101)),
            "1: sent 101 bytes under 'ports', expected at most 100");
  EXPECT_EQ(after(piece_of({"fence", 0, 0, {}}, 101)), "1: sent 101 bytes under 'fence', expected at most 100");
  EXPECT_EQ(story.exchange.held(), 0U);
}

TEST_F(Breaches, AreADuplicateAndAnotherRound) {
  EXPECT_EQ(after(piece_of({"fence", 0, 1, {}})), "1: contributes to round 1 of 'fence', which is at round 0");
  EXPECT_EQ(after(piece_of({"fence", 0, 0, {}})), "");
  EXPECT_EQ(after(piece_of({"fence", 0, 0, {}})), "1: contributes twice to round 0 of 'fence'");
  story.contribute(0, "fence", "a");
  EXPECT_EQ(after(piece_of({"fence", 0, 0, {}})), "1: contributes to round 0 of 'fence', which is at round 1");
}

TEST_F(Breaches, AreNodesThatCannotBe) {
  const std::vector<std::vector<NodeRank>> wrong = {{{0}}, {{1}, {0}}, {{1}, {1}}, {{1}, {2}}, {{-1}, {1}}};
  for (const auto& nodes : wrong) {
    EXPECT_EQ(after(piece_of({"fence", 0, 0, nodes})), "1: contributes under 'fence' for nodes that cannot be");
  }
  EXPECT_EQ(after(piece_of({"fence", 0, 0, {{1}}})), "") << "alone";
}

TEST_F(Breaches, AreValuesThatDoNotUnpack) {
  Chunk bomb = split({{"modex", 0, 0, {}}, std::string(200'000, 'x')}).front();
  bomb.size = 100'000;
  EXPECT_EQ(after(bomb), "1: sent a value under 'modex' that does not unpack to the 100000 bytes that were announced");
  EXPECT_EQ(story.exchange.held(), 0U);
}

TEST_F(Breaches, AreNotCountedForLostNodes) {
  story.lose(1);
  EXPECT_EQ(after(piece_of({"exec", 0, 0, {}})), "");
}

TEST(ExchangeParts, ThatAreTornAreRefused) {
  const auto merged = all_parts({{{0}, "", "abc"}, {{1}, "", "de"}});
  for (const std::size_t size : {1U, 3U, 5U, 8U, 12U}) {
    EXPECT_FALSE(read_parts(std::string_view(*merged).substr(0, size))) << size;
  }
  EXPECT_EQ(read_parts(*merged)->size(), 2U);
  EXPECT_TRUE(read_parts("")->empty());
}

}  // namespace
}  // namespace muster::gang
