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
class Scenario {
 public:
  explicit Scenario(int nodes, std::size_t most_held = kMostHeldBytes)
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
  Scenario scenario(3);
  scenario.keep(0, "ports", "a");
  scenario.keep(1, "ports", "b");
  scenario.keep(2, "ports", "c");
  scenario.join_all();

  EXPECT_EQ(scenario.start(0, {0, 2}).at("ports"), "0@host-0=a 1@host-2=c");
  EXPECT_EQ(scenario.start(1, {2, 1, 0}).at("ports"), "0@host-2=c 1@host-1=b 2@host-0=a");
}

TEST(ExchangeServer, IsSilentWithoutContributions) {
  Scenario scenario(2);
  scenario.join_all();
  const auto merged = scenario.exchange.begin(0, {{0, ""}, {1, ""}});
  ASSERT_TRUE(merged);
  EXPECT_TRUE(merged->empty());
  EXPECT_TRUE(scenario.start(0, {0, 1}).empty());
}

TEST(ExchangeServer, HasAnEmptyPartOfANodeThatHasContributedNothing) {
  Scenario scenario(2);
  scenario.keep(1, "ports", "b");
  scenario.join_all();
  EXPECT_EQ(scenario.start(0, {0, 1}).at("ports"), "0@host-0= 1@host-1=b");
}

TEST(ExchangeServer, NamesMissingContributions) {
  Scenario scenario(1);
  scenario.keep(0, "table", random_bytes(100'000));
  scenario.keep(0, "ports", "a");
  scenario.exchange.add(0, scenario.agents[0].names());
  EXPECT_EQ(scenario.exchange.missing(0), "'ports', 'table'");
  for (const Contribute& chunk : scenario.agents[0].introduce()) {
    EXPECT_NE(scenario.exchange.missing(0), "");
    (void)scenario.exchange.take(0, chunk);
  }
  EXPECT_EQ(scenario.exchange.missing(0), "");
  EXPECT_EQ(scenario.exchange.missing(7), "") << "nobody knows it";
}

TEST(ExchangeServer, MergesWhatWasContributedLast) {
  Scenario scenario(2);
  scenario.keep(0, "ports", "a");
  scenario.keep(1, "ports", "b");
  scenario.join_all();
  EXPECT_EQ(scenario.start(0, {0, 1}).at("ports"), "0@host-0=a 1@host-1=b");

  scenario.change(1, "ports", "newer");
  scenario.change(1, "ports", "newest");

  EXPECT_EQ(scenario.start(1, {0, 1}).at("ports"), "0@host-0=a 1@host-1=newest");
  EXPECT_EQ(scenario.error, "");
  EXPECT_EQ(scenario.exchange.held(), 7U);
  EXPECT_EQ(scenario.agents[1].introduce().size(), 1U) << "another leader is told the newest alone";
}

TEST(ExchangeServer, IsNotReadyWhileAValueIsContributedAnew) {
  Scenario scenario(1);
  scenario.keep(0, "table", random_bytes(100'000));
  scenario.join_all();
  EXPECT_EQ(scenario.exchange.missing(0), "");
  for (const Contribute& chunk : scenario.agents[0].keep("table", random_bytes(120'000))) {
    scenario.carry_out(scenario.exchange.take(0, chunk));
    const bool is_over = scenario.exchange.held() == 120'000U;
    EXPECT_EQ(scenario.exchange.missing(0), is_over ? "" : "'table'");
  }
  EXPECT_EQ(scenario.exchange.held(), 120'000U);
}

TEST(ExchangeServer, IsNotReadyBeforeAnUnannouncedValueArrives) {
  Scenario scenario(1);
  scenario.join_all();
  const auto chunks = scenario.agents[0].keep("table", random_bytes(100'000));
  scenario.carry_out(scenario.exchange.take(0, chunks.front()));
  EXPECT_EQ(scenario.exchange.missing(0), "'table'");
}

TEST(ExchangeServer, GivesEverybodyAllPartsWhereThatIsTheRule) {
  Scenario scenario(3);
  const std::vector<std::string> parts = {random_bytes(100'000), "", std::string(100'000, 'x')};
  scenario.keep(0, "table", parts[0]);
  scenario.keep(2, "table", parts[2]);
  scenario.join_all();
  const auto read = read_parts(scenario.start(0, {0, 1, 2}, 1).at("table"));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, parts);
}

TEST(ExchangeServer, ForgetsALostNode) {
  Scenario scenario(2);
  scenario.keep(0, "ports", "a");
  scenario.keep(1, "ports", "b");
  scenario.join_all();
  EXPECT_EQ(scenario.exchange.held(), 2U);
  scenario.lose(1);
  EXPECT_EQ(scenario.exchange.held(), 1U);
  EXPECT_EQ(scenario.start(0, {0}).at("ports"), "0@host-0=a");
  scenario.lose(0);
  EXPECT_EQ(scenario.exchange.held(), 0U);
}

TEST(ExchangeServer, ForgetsALostNodeInTheMiddleOfAValue) {
  Scenario scenario(1);
  scenario.keep(0, "table", random_bytes(100'000));
  scenario.exchange.add(0, {"table"});
  scenario.carry_out(scenario.exchange.take(0, scenario.agents[0].introduce().front()));
  EXPECT_EQ(scenario.exchange.held(), 100'000U) << "announced";
  scenario.lose(0);
  EXPECT_EQ(scenario.exchange.held(), 0U);
}

TEST(ExchangeServer, ForgetsWhatWasMergedForALeaderThatIsGone) {
  Scenario scenario(1);
  scenario.keep(0, "ports", "a");
  scenario.join(0);
  const auto merged = scenario.exchange.begin(0, {{0, "old"}});
  (void)scenario.agents[0].take(merged->front());
  (void)scenario.agents[0].introduce();
  EXPECT_TRUE(scenario.agents[0].start(0).empty());
}

TEST(ExchangeServer, ReportsMissingResultsAtTheStart) {
  Scenario scenario(2);
  scenario.keep(0, "never", "a");
  scenario.join_all();
  (void)scenario.start(0, {0, 1});
  EXPECT_EQ(scenario.error, "'never' has none of 2");
}

TEST(ExchangeServer, LimitsWhatComesOut) {
  Scenario scenario(3);
  for (std::size_t agent = 0; agent < 3; ++agent) {
    scenario.keep(agent, "ports", std::string(100, 'x'));
  }
  scenario.join_all();
  (void)scenario.start(0, {0, 1, 2});
  EXPECT_EQ(scenario.error, "'ports' of 3 nodes is 329 bytes long, expected at most 200");
}

TEST(ExchangeServer, LimitsTheLeadersMemory) {
  Scenario scenario(2, 150'000);
  scenario.keep(0, "table", random_bytes(100'000));
  scenario.keep(1, "table", random_bytes(50'001));
  scenario.join(0);
  EXPECT_EQ(scenario.error, "");
  scenario.join(1);
  EXPECT_EQ(scenario.error,
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
  Scenario scenario(2);
  scenario.join_all();
  (void)scenario.start(0, {0, 1});
  for (int round = 0; round < 100; ++round) {
    scenario.got.clear();
    scenario.contribute(1, "fence", "b" + std::to_string(round));
    EXPECT_EQ(scenario.got, Lines());
    scenario.contribute(0, "fence", "a");
    const std::string merged = " fence " + std::to_string(round) + ": 0@host-0=a 1@host-1=b" + std::to_string(round);
    EXPECT_EQ(scenario.got, (Lines{"0:" + merged, "1:" + merged}));
  }
  EXPECT_EQ(scenario.error, "");
  EXPECT_LT(scenario.exchange.held(), 1'000U) << "nothing is kept of a round that is over";
}

TEST(ExchangeServer, WaitsOnlyForTheListedNodes) {
  Scenario scenario(4);
  scenario.join_all();
  (void)scenario.start(0, {3, 2, 1, 0});  // link 1 is node 2
  scenario.contribute(1, "fence", "b", {{0}, {2}});
  scenario.contribute(2, "fence", "c", {{1}, {3}});
  scenario.contribute(3, "fence", "d", {{0}, {2}});
  EXPECT_EQ(scenario.got, (Lines{"3: fence 0: 0@host-3=d 2@host-1=b", "1: fence 0: 0@host-3=d 2@host-1=b"}));
  scenario.contribute(3, "fence", "e");  // of all: another group, and its own count of rounds
  scenario.contribute(3, "fence", "f", {{0}, {2}});
  EXPECT_EQ(scenario.error, "");
}

TEST(ExchangeServer, DoesNotWaitForALostNode) {
  Scenario scenario(3);
  scenario.join_all();
  (void)scenario.start(0, {0, 1, 2});
  scenario.contribute(0, "fence", "a");
  scenario.contribute(1, "fence", "b");
  scenario.lose(2);
  EXPECT_EQ(scenario.got.back(), "1: fence 0: 0@host-0=a 1@host-1=b");
  scenario.contribute(0, "fence", "c");
  scenario.contribute(1, "fence", "d");
  EXPECT_EQ(scenario.got.back(), "1: fence 1: 0@host-0=c 1@host-1=d");
  scenario.contribute(0, "fence", "e", {{0}, {2}});
  EXPECT_EQ(scenario.got.back(), "0: fence 0: 0@host-0=e");
}

TEST(ExchangeServer, DropsTheContributionOfANodeLostDuringARound) {
  Scenario scenario(3);
  scenario.join_all();
  (void)scenario.start(0, {0, 1, 2});
  scenario.contribute(2, "fence", "c");
  scenario.lose(2);
  scenario.contribute(0, "fence", "a");
  scenario.contribute(1, "fence", "b");
  EXPECT_EQ(scenario.got.back(), "1: fence 0: 0@host-0=a 1@host-1=b");
}

TEST(ExchangeServer, BeginsEachAttemptWithNewRounds) {
  Scenario scenario(2);
  scenario.join_all();
  (void)scenario.start(0, {0, 1});
  scenario.contribute(0, "fence", "old");
  const auto late = scenario.agents[1].contribute("fence", "late", {});
  scenario.exchange.end();
  EXPECT_EQ(scenario.exchange.held(), 0U);
  scenario.carry_out(scenario.exchange.take(1, late.front()));  // nothing runs
  (void)scenario.start(1, {0, 1});
  scenario.carry_out(scenario.exchange.take(1, late.front()));  // something else runs
  EXPECT_EQ(scenario.exchange.held(), 0U);
  scenario.contribute(0, "fence", "a");
  scenario.contribute(1, "fence", "b");
  EXPECT_EQ(scenario.got.back(), "1: fence 0: 0@host-0=a 1@host-1=b");
  EXPECT_EQ(scenario.error, "");
}

TEST(ExchangeServer, IgnoresNodesOutsideTheAttempt) {
  Scenario scenario(3);
  scenario.join_all();
  (void)scenario.start(0, {0, 1});
  scenario.contribute(2, "fence", "c");
  EXPECT_EQ(scenario.error, "");
  EXPECT_EQ(scenario.exchange.held(), 0U);
}

TEST(ExchangeServer, ForgetsAHalfValueOfARoundWithItsAttempt) {
  Scenario scenario(2);
  scenario.join_all();
  (void)scenario.start(0, {0, 1});
  const auto chunks = scenario.agents[1].contribute("modex", random_bytes(100'000), {});
  scenario.carry_out(scenario.exchange.take(1, chunks[0]));
  (void)scenario.start(1, {0, 1});
  for (std::size_t i = 1; i < chunks.size(); ++i) {
    scenario.carry_out(scenario.exchange.take(1, chunks[i]));
  }
  scenario.contribute(1, "modex", "b");
  scenario.contribute(0, "modex", "a");
  EXPECT_EQ(scenario.error, "");
  EXPECT_EQ(scenario.got.size(), 2U);
}

TEST(ExchangeServer, ReportsWhyARoundHasNoResult) {
  Scenario scenario(1);
  scenario.join(0);
  (void)scenario.start(0, {0});
  scenario.contribute(0, "nothing", "a");
  EXPECT_EQ(scenario.error, "'nothing' has none of 1");
}

// --- Those who break the rules ------------------------------------------------------------------

class Breaches : public ::testing::Test {
 protected:
  void SetUp() override {
    scenario.join_all();
    (void)scenario.start(0, {0, 1});
  }
  /// The leader's error when node 1 sends this chunk.
  std::string after(Chunk chunk) {
    scenario.error.clear();
    scenario.carry_out(scenario.exchange.take(1, Contribute{std::move(chunk)}));
    return scenario.error;
  }
  static Chunk piece_of(ValueId id, std::size_t size = 1) { return split({std::move(id), random_bytes(size)}).front(); }

  Scenario scenario{2};
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
  EXPECT_EQ(scenario.exchange.held(), 0U);
}

TEST_F(Breaches, AreADuplicateAndAnotherRound) {
  EXPECT_EQ(after(piece_of({"fence", 0, 1, {}})), "1: contributes to round 1 of 'fence', which is at round 0");
  EXPECT_EQ(after(piece_of({"fence", 0, 0, {}})), "");
  EXPECT_EQ(after(piece_of({"fence", 0, 0, {}})), "1: contributes twice to round 0 of 'fence'");
  scenario.contribute(0, "fence", "a");
  EXPECT_EQ(after(piece_of({"fence", 0, 0, {}})), "1: contributes to round 0 of 'fence', which is at round 1");
}

TEST_F(Breaches, AreNodesThatCannotBe) {
  const std::vector<std::vector<NodeRank>> wrong = {{{0}}, {{1}, {0}}, {{1}, {1}}, {{1}, {2}}, {{-1}, {1}}};
  for (const auto& nodes : wrong) {
    EXPECT_EQ(after(piece_of({"fence", 0, 0, nodes})), "1: contributes under 'fence' for nodes that cannot exist");
  }
  EXPECT_EQ(after(piece_of({"fence", 0, 0, {{1}}})), "") << "alone";
}

TEST_F(Breaches, AreValuesThatDoNotUnpack) {
  Chunk bomb = split({{"modex", 0, 0, {}}, std::string(200'000, 'x')}).front();
  bomb.size = 100'000;
  EXPECT_EQ(after(bomb), "1: sent a value under 'modex' that does not unpack to the 100000 bytes that were announced");
  EXPECT_EQ(scenario.exchange.held(), 0U);
}

TEST_F(Breaches, AreNotCountedForLostNodes) {
  scenario.lose(1);
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
