// Agents that are here and not ready: nothing starts before their inputs have come.
#include "gang/protocol/leader_scenario.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

std::string arrive_unready(LeaderScenario& scenario, LinkId link, std::optional<int> rank) {
  Join join = scenario.join_of(link, rank);
  join.waits_for = "its rank table: initializing";
  return scenario.arrive(link, join);
}

TEST(Ready, StartsWhenTheLastInputHasCome) {
  LeaderScenario scenario(job_of(3));
  (void)arrive_unready(scenario, 1, 1);
  EXPECT_EQ(scenario.arrive(2, 2), "2: admitted as node 2");
  EXPECT_EQ(scenario.wait(seconds(4)), "");

  EXPECT_NE(scenario.receive(1, InputStatus{}).find("start 0 as node 2 of 3"), std::string::npos);
}

TEST(Ready, NamesWaitingNodesAndTheirInputs) {
  LeaderScenario scenario(job_of(3));
  (void)arrive_unready(scenario, 1, 1);
  (void)arrive_unready(scenario, 2, 2);
  (void)scenario.receive(2, InputStatus{"its host list"});
  (void)scenario.receive(1, InputStatus{"its rank table: 3 of 4 servers"});

  (void)scenario.wait(seconds(5));

  EXPECT_TRUE(
      scenario.has_said("3 of 3 nodes are here after 5 s: node 1 waits for its rank table: 3 of "
                        "4 servers; node 2 waits for its host list; giving up in at most 895 s"))
      << scenario.all_said();
}

TEST(Ready, SaysOfOneNodeThatItIsHere) {
  LeaderScenario scenario(job_of(1), std::nullopt);
  Leader leader(job_of(1), scenario.now());
  Join join = scenario.join_of(kOwnLink, 0);
  join.waits_for = "its rank table";
  (void)leader.on(Joined{kOwnLink, "", "", join}, scenario.now());

  std::string said;
  for (const LeaderAction& action : leader.on(Tick{}, scenario.now() + seconds(5))) {
    const auto* const say = std::get_if<LogLine>(&action);
    said += say == nullptr ? "" : say->text;
  }

  EXPECT_EQ(said,
            "1 of 1 node is here after 5 s: node 0 waits for its rank table; giving up in at most "
            "895 s");
}

TEST(Ready, TimesOutWithTheReasonOfTheNodeThatIsNotReady) {
  LeaderScenario scenario(job_of(3));
  (void)arrive_unready(scenario, 1, 1);

  (void)scenario.wait(seconds(900));

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "incomplete 75");
  EXPECT_EQ(scenario.end->reason,
            "2 of 3 nodes came within 900 s: node 2 never connected; node 1 waits for its rank "
            "table: initializing");
}

TEST(Ready, CountsForTheLeadersOwnNodeAndForAJobOfOne) {
  LeaderScenario scenario(job_of(1), std::nullopt);
  EXPECT_EQ(scenario.state(), State::Running) << "without inputs nothing is waited for";

  Leader leader(job_of(1), scenario.now());
  Join join = scenario.join_of(kOwnLink, 0);
  join.waits_for = "its rank table";
  EXPECT_EQ(words_of(leader.on(Joined{kOwnLink, "", "", join}, scenario.now())), "0: admitted as node 0");
  EXPECT_EQ(words_of(leader.on(Received{kOwnLink, InputStatus{}}, scenario.now())), "reserve port");
}

TEST(Ready, EndsTheJobWhenANodeWaitedInVain) {
  LeaderScenario scenario(job_of(3));
  (void)arrive_unready(scenario, 1, 1);
  (void)scenario.arrive(2, 2);
  (void)scenario.receive(1, InputStatus{"waited 600 s in vain: its rank table: missing", 75});

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "incomplete 75");
  EXPECT_TRUE(scenario.end->reason.starts_with("node 1, ")) << scenario.end->reason;
  EXPECT_TRUE(scenario.end->reason.ends_with(": waited 600 s in vain: its rank table: missing"))
      << scenario.end->reason;
}

TEST(Ready, EndsTheJobForNodesThatStillConnect) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.receive(kOwnLink, InputStatus{"its rank table is no JSON object", 65});
  EXPECT_FALSE(scenario.end);
  EXPECT_TRUE(scenario.has_said("ending the job, in at most 5 s")) << scenario.all_said();

  EXPECT_EQ(scenario.arrive(1, 1), "1: admitted as node 1");
  EXPECT_EQ(scenario.arrive(2, 2), "2: admitted as node 2 | 0,1,2: finish: failed 65");
}

TEST(Ready, DoesNotWaitLongForAbsentNodes) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.receive(kOwnLink, InputStatus{"its rank table is no JSON object", 65});
  (void)scenario.wait(seconds(4));
  EXPECT_FALSE(scenario.end);
  (void)scenario.wait(seconds(2));

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "failed 65");
}

TEST(Ready, DelaysTheEndForNodesThatStillConnect) {
  LeaderScenario scenario(job_of(3));
  (void)scenario.wait(seconds(3));
  (void)scenario.receive(kOwnLink, InputStatus{"its rank table is no JSON object", 65});
  (void)scenario.wait(seconds(4));  // how the wait goes would have been said meanwhile
  EXPECT_FALSE(scenario.end);
  (void)scenario.wait(seconds(2));

  EXPECT_TRUE(scenario.end);
}

TEST(Ready, EndsTheJobWhenAnInputIsWrong) {
  LeaderScenario scenario(job_of(2));
  (void)arrive_unready(scenario, 1, 1);
  (void)scenario.receive(1, InputStatus{"its rank table is no JSON object", 65});

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "failed 65");
}

TEST(Ready, SendsASpareAwayThatWaitedInVain) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)arrive_unready(scenario, 8, std::nullopt);
  const std::string words = scenario.receive(8, InputStatus{"waited 600 s in vain", 75});

  EXPECT_NE(words.find("8: finish"), std::string::npos) << words;
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Ready, IsCheckedAgainWhenThePortIsReserved) {
  LeaderScenario scenario(job_of(2));
  scenario.answers_port = false;
  EXPECT_EQ(scenario.arrive(1, 1), "1: admitted as node 1 | reserve port");
  (void)scenario.receive(1, InputStatus{"its rank table"});

  EXPECT_EQ(scenario.happen(PortReserved{{4'000}, ""}), "");
  EXPECT_EQ(scenario.receive(1, InputStatus{}), "reserve port");
}

TEST(Ready, MayBeLostBeforeTheNextAttempt) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(1, Failed{0, failure_of(2)});
  (void)scenario.receive(1, InputStatus{"its rank table"});

  (void)scenario.end_all();

  EXPECT_EQ(scenario.state(), State::Rendezvous);
  EXPECT_NE(scenario.receive(1, InputStatus{}).find("start 1 as node 1 of 2"), std::string::npos);
}

TEST(Ready, EndsTheJobBeforeTheNextAttemptIfItWentWrongMeanwhile) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)scenario.receive(1, Failed{0, failure_of(2)});
  EXPECT_EQ(scenario.receive(1, InputStatus{"its rank table is no JSON object", 65}), "");

  (void)scenario.end_all();

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(words_of(*scenario.end), "failed 65");
  EXPECT_TRUE(scenario.end->reason.ends_with("its rank table is no JSON object")) << scenario.end->reason;
}

TEST(Ready, DoesNotMatterWhereNoAttemptFollows) {
  LeaderScenario scenario = running(job_of(2), 2);
  (void)scenario.receive(1, Failed{0, failure_of(2)});
  (void)scenario.receive(1, InputStatus{"its rank table is no JSON object", 65});

  (void)scenario.end_all();

  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->reason.find("rank table"), std::string::npos) << scenario.end->reason;
}

TEST(Ready, SpareIsTakenBeforeOneThatIsNot) {
  LeaderScenario scenario = running(restarting(job_of(2)), 2);
  (void)arrive_unready(scenario, 8, std::nullopt);
  (void)scenario.arrive(9);

  (void)scenario.receive(1, Failed{0, failure_of(2)});
  (void)scenario.lose(1);
  (void)scenario.receive(kOwnLink, AttemptOver{0, std::nullopt, std::nullopt});
  (void)scenario.wait(seconds(30));

  EXPECT_EQ(scenario.state(), State::Running);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{kOwnLink, 9}));
}

TEST(Ready, NamesAFewOfManyThatAreNot) {
  GangConfig config = job_of(20);
  config.options.timeout = seconds(10);
  LeaderScenario scenario(config);
  for (int node = 1; node < 20; ++node) {
    (void)arrive_unready(scenario, static_cast<LinkId>(node), node);
  }

  (void)scenario.wait(seconds(10));

  EXPECT_NE(scenario.end->reason.find("node 8 waits for its rank table: initializing; 11 more nodes "
                                      "not ready"),
            std::string::npos)
      << scenario.end->reason;
}

// Jobs of MIN to MAX nodes: who is not ready has not come, as it were.

GangConfig elastic(int least, int most) {
  GangConfig config = restarting(job_of(least, most));
  config.options.last_call = seconds(30);
  return config;
}

TEST(Ready, IsNotRequiredAboveTheMinimumOfNodes) {
  LeaderScenario scenario(elastic(2, 3));
  (void)arrive_unready(scenario, 1, 1);
  (void)scenario.arrive(2, 2);
  EXPECT_EQ(scenario.wait(seconds(29)), "1,2: waiting");
  const std::string words = scenario.wait(seconds(2));

  EXPECT_NE(words.find("1: admitted as a spare"), std::string::npos) << words;
  EXPECT_NE(words.find("2: start 0 as node 1 of 2"), std::string::npos) << words;
  EXPECT_TRUE(
      scenario.has_said("node 1, host-b (10.0.0.2), still waits for its rank table: "
                        "initializing: starting without it"))
      << scenario.all_said();
}

TEST(Ready, TakesItsSeatWhenItIsAndTheJobStartsAgain) {
  LeaderScenario scenario(elastic(1, 2));
  (void)arrive_unready(scenario, 1, 1);
  (void)scenario.wait(seconds(31));
  ASSERT_EQ(scenario.state(), State::Running);
  EXPECT_EQ(scenario.receive(1, InputStatus{}), "");

  const std::string words = scenario.fail_all(0);

  EXPECT_NE(words.find("1: admitted as node 1"), std::string::npos) << words;
  EXPECT_NE(words.find("1: start 1 as node 1 of 2"), std::string::npos) << words;
}

TEST(Ready, NodeThatIsNotStaysAnUnneededSpare) {
  LeaderScenario scenario(elastic(1, 2));
  (void)arrive_unready(scenario, 1, 1);
  (void)scenario.wait(seconds(31));

  const std::string words = scenario.fail_all(0);

  EXPECT_EQ(words.find("admitted"), std::string::npos) << words;
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Ready, IsWaitedForBeforeTheNextAttemptForTheLastCall) {
  LeaderScenario scenario = running(elastic(1, 2), 2);
  (void)scenario.receive(kOwnLink, Failed{0, failure_of(0)});
  (void)scenario.receive(1, InputStatus{"its rank table"});
  (void)scenario.end_all();
  EXPECT_EQ(scenario.state(), State::Rendezvous);
  EXPECT_NE(scenario.receive(1, InputStatus{}).find("1: start 1 as node 1 of 2"), std::string::npos);
}

TEST(Ready, IsRefusedAsALateOneWhereTheJobCannotRestart) {
  LeaderScenario scenario(job_of(1, 2));
  (void)arrive_unready(scenario, 1, 1);
  const std::string words = scenario.wait(seconds(31));

  EXPECT_NE(words.find("1: refused: the job starts without this node, which still waits for its "
                       "rank table: initializing, and it cannot restart (--max-restarts is 0)"),
            std::string::npos)
      << words;
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Ready, TimedOutNodeLeavesWithoutEndingAnElasticJob) {
  LeaderScenario scenario(elastic(1, 2));
  (void)arrive_unready(scenario, 1, 1);
  const std::string words = scenario.receive(1, InputStatus{"waited 10 s in vain: its rank table", 75});
  EXPECT_EQ(words, "1: finish: incomplete 75 | drop 1");
  EXPECT_NE(scenario.wait(seconds(31)).find("0: start 0 as node 0 of 1"), std::string::npos);

  LeaderScenario other(elastic(1, 2));
  (void)arrive_unready(other, 1, 1);
  EXPECT_EQ(other.receive(1, InputStatus{"its rank table is no JSON object", 65}), "0,1: finish: failed 65");
}

TEST(Ready, MayLeaveAsASpareThatTookPartBefore) {
  LeaderScenario scenario = running(elastic(1, 2), 2);
  (void)scenario.receive(kOwnLink, Failed{0, failure_of(0)});
  (void)scenario.receive(1, InputStatus{"its rank table"});
  (void)scenario.end_all();
  (void)scenario.wait(seconds(31));
  ASSERT_EQ(scenario.leader().nodes(), std::vector<LinkId>{kOwnLink});

  EXPECT_EQ(scenario.receive(1, StopFromAgent{SIGTERM}), "1: finish: stopped 143 | drop 1");
  EXPECT_EQ(scenario.state(), State::Running);
}

TEST(Ready, GivesItsSeatToASpareThatIs) {
  LeaderScenario scenario(elastic(1, 2));
  (void)arrive_unready(scenario, 1, std::nullopt);
  (void)scenario.arrive(2);
  (void)scenario.wait(seconds(31));

  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{kOwnLink, 2}));
}

TEST(Ready, IsRequiredOfTheLeadersNode) {
  GangConfig config = elastic(1, 2);
  Leader leader(config, Instant{});
  LeaderScenario other(config);
  Join join = other.join_of(kOwnLink, 0);
  join.waits_for = "its rank table";
  (void)leader.on(Joined{kOwnLink, "", "", join}, Instant{});
  (void)leader.on(Joined{1, "10.0.0.2", "10.0.0.1", other.join_of(1, 1)}, Instant{});
  (void)leader.on(Received{1, Heartbeat{}}, Instant{seconds(31)});
  EXPECT_EQ(words_of(leader.on(Tick{}, Instant{seconds(31)})).find("reserve"), std::string::npos);
}

}  // namespace
}  // namespace muster::gang
