// Agents that are here and not ready: nothing starts before their inputs have come.
#include "gang/protocol/leader_story.hpp"

namespace muster::gang {
namespace {

using State = Leader::State;

std::string arrive_unready(LeaderStory& story, LinkId link, std::optional<int> rank) {
  Join join = story.join_of(link, rank);
  join.waits_for = "its rank table: initializing";
  return story.arrive(link, join);
}

TEST(Ready, StartsWhenTheLastInputHasCome) {
  LeaderStory story(job_of(3));
  (void)arrive_unready(story, 1, 1);
  EXPECT_EQ(story.arrive(2, 2), "2: admitted as node 2");
  EXPECT_EQ(story.wait(seconds(4)), "");

  EXPECT_NE(story.read_signal(1, InputStatus{}).find("start 0 as node 2 of 3"), std::string::npos);
}

TEST(Ready, NamesWaitingNodesAndTheirInputs) {
  LeaderStory story(job_of(3));
  (void)arrive_unready(story, 1, 1);
  (void)arrive_unready(story, 2, 2);
  (void)story.read_signal(2, InputStatus{"its host list"});
  (void)story.read_signal(1, InputStatus{"its rank table: 3 of 4 servers"});

  (void)story.wait(seconds(5));

  EXPECT_TRUE(
      story.has_said("3 of 3 nodes are here after 5 s: node 1 waits for its rank table: 3 of "
                     "4 servers; node 2 waits for its host list; giving up in at most 895 s"))
      << story.all_said();
}

TEST(Ready, SaysOfOneNodeThatItIsHere) {
  LeaderStory story(job_of(1), std::nullopt);
  Leader leader(job_of(1), story.now());
  Join join = story.join_of(kOwnLink, 0);
  join.waits_for = "its rank table";
  (void)leader.on(Joined{kOwnLink, "", "", join}, story.now());

  std::string said;
  for (const LeaderAction& action : leader.on(Tick{}, story.now() + seconds(5))) {
    const auto* const say = std::get_if<LogLine>(&action);
    said += say == nullptr ? "" : say->text;
  }

  EXPECT_EQ(said,
            "1 of 1 node is here after 5 s: node 0 waits for its rank table; giving up in at most "
            "895 s");
}

TEST(Ready, TimesOutWithTheReasonOfTheNodeThatIsNotReady) {
  LeaderStory story(job_of(3));
  (void)arrive_unready(story, 1, 1);

  (void)story.wait(seconds(900));

  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "incomplete 75");
  EXPECT_EQ(story.end->reason,
            "2 of 3 nodes came within 900 s: node 2 never connected; node 1 waits for its rank "
            "table: initializing");
}

TEST(Ready, CountsForTheLeadersOwnNodeAndForAJobOfOne) {
  LeaderStory story(job_of(1), std::nullopt);
  EXPECT_EQ(story.state(), State::Running) << "without inputs nothing is waited for";

  Leader leader(job_of(1), story.now());
  Join join = story.join_of(kOwnLink, 0);
  join.waits_for = "its rank table";
  EXPECT_EQ(words_of(leader.on(Joined{kOwnLink, "", "", join}, story.now())), "0: admitted as node 0");
  EXPECT_EQ(words_of(leader.on(Received{kOwnLink, InputStatus{}}, story.now())), "reserve port");
}

TEST(Ready, EndsTheJobWhenANodeWaitedInVain) {
  LeaderStory story(job_of(3));
  (void)arrive_unready(story, 1, 1);
  (void)story.arrive(2, 2);
  (void)story.read_signal(1, InputStatus{"waited 600 s in vain: its rank table: missing", 75});

  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "incomplete 75");
  EXPECT_TRUE(story.end->reason.starts_with("node 1, ")) << story.end->reason;
  EXPECT_TRUE(story.end->reason.ends_with(": waited 600 s in vain: its rank table: missing")) << story.end->reason;
}

TEST(Ready, EndsTheJobForNodesThatStillConnect) {
  LeaderStory story(job_of(3));
  (void)story.read_signal(kOwnLink, InputStatus{"its rank table is no JSON object", 65});
  EXPECT_FALSE(story.end);
  EXPECT_TRUE(story.has_said("ending the job, in at most 5 s")) << story.all_said();

  EXPECT_EQ(story.arrive(1, 1), "1: admitted as node 1");
  EXPECT_EQ(story.arrive(2, 2), "2: admitted as node 2 | 0,1,2: finish: failed 65");
}

TEST(Ready, DoesNotWaitLongForAbsentNodes) {
  LeaderStory story(job_of(3));
  (void)story.read_signal(kOwnLink, InputStatus{"its rank table is no JSON object", 65});
  (void)story.wait(seconds(4));
  EXPECT_FALSE(story.end);
  (void)story.wait(seconds(2));

  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "failed 65");
}

TEST(Ready, DelaysTheEndForNodesThatStillConnect) {
  LeaderStory story(job_of(3));
  (void)story.wait(seconds(3));
  (void)story.read_signal(kOwnLink, InputStatus{"its rank table is no JSON object", 65});
  (void)story.wait(seconds(4));  // how the wait goes would have been said meanwhile
  EXPECT_FALSE(story.end);
  (void)story.wait(seconds(2));

  EXPECT_TRUE(story.end);
}

TEST(Ready, EndsTheJobWhenAnInputIsWrong) {
  LeaderStory story(job_of(2));
  (void)arrive_unready(story, 1, 1);
  (void)story.read_signal(1, InputStatus{"its rank table is no JSON object", 65});

  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "failed 65");
}

TEST(Ready, SendsASpareAwayThatWaitedInVain) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)arrive_unready(story, 8, std::nullopt);
  const std::string words = story.read_signal(8, InputStatus{"waited 600 s in vain", 75});

  EXPECT_NE(words.find("8: finish"), std::string::npos) << words;
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Ready, IsCheckedAgainWhenThePortIsReserved) {
  LeaderStory story(job_of(2));
  story.answers_port = false;
  EXPECT_EQ(story.arrive(1, 1), "1: admitted as node 1 | reserve port");
  (void)story.read_signal(1, InputStatus{"its rank table"});

  EXPECT_EQ(story.happen(PortReserved{{4'000}, ""}), "");
  EXPECT_EQ(story.read_signal(1, InputStatus{}), "reserve port");
}

TEST(Ready, MayBeLostBeforeTheNextAttempt) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(1, Failed{0, failure_of(2)});
  (void)story.read_signal(1, InputStatus{"its rank table"});

  (void)story.end_all();

  EXPECT_EQ(story.state(), State::Rendezvous);
  EXPECT_NE(story.read_signal(1, InputStatus{}).find("start 1 as node 1 of 2"), std::string::npos);
}

TEST(Ready, EndsTheJobBeforeTheNextAttemptIfItWentWrongMeanwhile) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)story.read_signal(1, Failed{0, failure_of(2)});
  EXPECT_EQ(story.read_signal(1, InputStatus{"its rank table is no JSON object", 65}), "");

  (void)story.end_all();

  ASSERT_TRUE(story.end);
  EXPECT_EQ(words_of(*story.end), "failed 65");
  EXPECT_TRUE(story.end->reason.ends_with("its rank table is no JSON object")) << story.end->reason;
}

TEST(Ready, DoesNotMatterWhereNoAttemptFollows) {
  LeaderStory story = running(job_of(2), 2);
  (void)story.read_signal(1, Failed{0, failure_of(2)});
  (void)story.read_signal(1, InputStatus{"its rank table is no JSON object", 65});

  (void)story.end_all();

  ASSERT_TRUE(story.end);
  EXPECT_EQ(story.end->reason.find("rank table"), std::string::npos) << story.end->reason;
}

TEST(Ready, SpareIsTakenBeforeOneThatIsNot) {
  LeaderStory story = running(restarting(job_of(2)), 2);
  (void)arrive_unready(story, 8, std::nullopt);
  (void)story.arrive(9);

  (void)story.read_signal(1, Failed{0, failure_of(2)});
  (void)story.lose(1);
  (void)story.read_signal(kOwnLink, AttemptOver{0, std::nullopt, std::nullopt});
  (void)story.wait(seconds(30));

  EXPECT_EQ(story.state(), State::Running);
  EXPECT_EQ(story.leader().nodes(), (std::vector<LinkId>{kOwnLink, 9}));
}

TEST(Ready, NamesAFewOfManyThatAreNot) {
  GangConfig config = job_of(20);
  config.options.timeout = seconds(10);
  LeaderStory story(config);
  for (int node = 1; node < 20; ++node) {
    (void)arrive_unready(story, static_cast<LinkId>(node), node);
  }

  (void)story.wait(seconds(10));

  EXPECT_NE(story.end->reason.find("node 8 waits for its rank table: initializing; 11 more nodes "
                                   "not ready"),
            std::string::npos)
      << story.end->reason;
}

// Jobs of MIN to MAX nodes: who is not ready has not come, as it were.

GangConfig elastic(int least, int most) {
  GangConfig config = restarting(job_of(least, most));
  config.options.last_call = seconds(30);
  return config;
}

TEST(Ready, IsNotRequiredAboveTheMinimumOfNodes) {
  LeaderStory story(elastic(2, 3));
  (void)arrive_unready(story, 1, 1);
  (void)story.arrive(2, 2);
  EXPECT_EQ(story.wait(seconds(29)), "1,2: waiting");
  const std::string words = story.wait(seconds(2));

  EXPECT_NE(words.find("1: admitted as a spare"), std::string::npos) << words;
  EXPECT_NE(words.find("2: start 0 as node 1 of 2"), std::string::npos) << words;
  EXPECT_TRUE(
      story.has_said("node 1, host-b (10.0.0.2), still waits for its rank table: "
                     "initializing: starting without it"))
      << story.all_said();
}

TEST(Ready, TakesItsSeatWhenItIsAndTheJobStartsAgain) {
  LeaderStory story(elastic(1, 2));
  (void)arrive_unready(story, 1, 1);
  (void)story.wait(seconds(31));
  ASSERT_EQ(story.state(), State::Running);
  EXPECT_EQ(story.read_signal(1, InputStatus{}), "");

  const std::string words = story.fail_all(0);

  EXPECT_NE(words.find("1: admitted as node 1"), std::string::npos) << words;
  EXPECT_NE(words.find("1: start 1 as node 1 of 2"), std::string::npos) << words;
}

TEST(Ready, NodeThatIsNotStaysAnUnneededSpare) {
  LeaderStory story(elastic(1, 2));
  (void)arrive_unready(story, 1, 1);
  (void)story.wait(seconds(31));

  const std::string words = story.fail_all(0);

  EXPECT_EQ(words.find("admitted"), std::string::npos) << words;
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Ready, IsWaitedForBeforeTheNextAttemptForTheLastCall) {
  LeaderStory story = running(elastic(1, 2), 2);
  (void)story.read_signal(kOwnLink, Failed{0, failure_of(0)});
  (void)story.read_signal(1, InputStatus{"its rank table"});
  (void)story.end_all();
  EXPECT_EQ(story.state(), State::Rendezvous);
  EXPECT_NE(story.read_signal(1, InputStatus{}).find("1: start 1 as node 1 of 2"), std::string::npos);
}

TEST(Ready, IsRefusedAsALateOneWhereTheJobCannotRestart) {
  LeaderStory story(job_of(1, 2));
  (void)arrive_unready(story, 1, 1);
  const std::string words = story.wait(seconds(31));

  EXPECT_NE(words.find("1: refused: the job starts without this node, which still waits for its "
                       "rank table: initializing, and it cannot restart (--max-restarts is 0)"),
            std::string::npos)
      << words;
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Ready, TimedOutNodeLeavesWithoutEndingAnElasticJob) {
  LeaderStory story(elastic(1, 2));
  (void)arrive_unready(story, 1, 1);
  const std::string words = story.read_signal(1, InputStatus{"waited 10 s in vain: its rank table", 75});
  EXPECT_EQ(words, "1: finish: incomplete 75 | drop 1");
  EXPECT_NE(story.wait(seconds(31)).find("0: start 0 as node 0 of 1"), std::string::npos);

  LeaderStory other(elastic(1, 2));
  (void)arrive_unready(other, 1, 1);
  EXPECT_EQ(other.read_signal(1, InputStatus{"its rank table is no JSON object", 65}), "0,1: finish: failed 65");
}

TEST(Ready, MayLeaveAsASpareThatTookPartBefore) {
  LeaderStory story = running(elastic(1, 2), 2);
  (void)story.read_signal(kOwnLink, Failed{0, failure_of(0)});
  (void)story.read_signal(1, InputStatus{"its rank table"});
  (void)story.end_all();
  (void)story.wait(seconds(31));
  ASSERT_EQ(story.leader().nodes(), std::vector<LinkId>{kOwnLink});

  EXPECT_EQ(story.read_signal(1, StopFromAgent{SIGTERM}), "1: finish: stopped 143 | drop 1");
  EXPECT_EQ(story.state(), State::Running);
}

TEST(Ready, GivesItsSeatToASpareThatIs) {
  LeaderStory story(elastic(1, 2));
  (void)arrive_unready(story, 1, std::nullopt);
  (void)story.arrive(2);
  (void)story.wait(seconds(31));

  EXPECT_EQ(story.leader().nodes(), (std::vector<LinkId>{kOwnLink, 2}));
}

TEST(Ready, IsRequiredOfTheLeadersNode) {
  GangConfig config = elastic(1, 2);
  Leader leader(config, Instant{});
  LeaderStory other(config);
  Join join = other.join_of(kOwnLink, 0);
  join.waits_for = "its rank table";
  (void)leader.on(Joined{kOwnLink, "", "", join}, Instant{});
  (void)leader.on(Joined{1, "10.0.0.2", "10.0.0.1", other.join_of(1, 1)}, Instant{});
  (void)leader.on(Received{1, Heartbeat{}}, Instant{seconds(31)});
  EXPECT_EQ(words_of(leader.on(Tick{}, Instant{seconds(31)})).find("reserve"), std::string::npos);
}

}  // namespace
}  // namespace muster::gang
