// The leader has the nodes run the command of --preflight-command; here a test says how it ends on each.
#include "gang/protocol/leader_scenario.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster::gang {
namespace {

const std::string kAsked = "status asked " + std::to_string(kCommandNumber);
const std::string kFailed = "the preflight command ended with exit code 3: \"GPU 4: DBE\"";

GangConfig checking(GangConfig config) {
  config.options.preflight_command = "check";
  return config;
}

void answer(LeaderScenario& scenario, LinkId link, const std::string& text = kCommandPassed) {
  (void)scenario.receive(link, StatusReport{kCommandNumber, text});
}

/// Its nodes are here, and those from 0 on have answered.
LeaderScenario answered(const GangConfig& config, int nodes, const std::vector<std::string>& texts) {
  LeaderScenario scenario(checking(config));
  (void)scenario.arrive_all(nodes);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    answer(scenario, i, texts[i]);
  }
  return scenario;
}

TEST(PreflightCommand, IsAskedForWhenAllAreHereAndTheStartWaits) {
  LeaderScenario scenario(checking(job_of(2)));
  EXPECT_EQ(scenario.first_words.find("asked"), std::string::npos) << scenario.first_words;
  const std::string all_here = scenario.arrive(1);
  EXPECT_NE(all_here.find("0: " + kAsked), std::string::npos) << all_here;
  EXPECT_NE(all_here.find("1: " + kAsked), std::string::npos) << all_here;
  answer(scenario, 1);
  EXPECT_EQ(scenario.wait(milliseconds(999)), "");
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  answer(scenario, kOwnLink);

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_FALSE(scenario.has_said("took")) << "below a second it is not worth a line";
}

TEST(PreflightCommand, IsAskedForOfASingleNode) {
  LeaderScenario scenario(checking(job_of(1)));
  EXPECT_NE(scenario.first_words.find("0: " + kAsked), std::string::npos) << scenario.first_words;
  (void)scenario.wait(milliseconds(1'500));
  answer(scenario, kOwnLink);

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_TRUE(scenario.has_said("the preflight command took 1.50 s")) << scenario.all_said();
}

TEST(PreflightCommand, EndsAJobWithoutASpareAndNamesEachBadNode) {
  LeaderScenario scenario = answered(job_of(4), 4, {kCommandPassed, kFailed, kFailed});
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous) << "the last one may be bad, too";
  answer(scenario, 3);

  EXPECT_EQ(scenario.announced,
            (std::vector<std::string>{"node 1 (host-b): " + kFailed, "node 2 (host-c): " + kFailed}));
  EXPECT_EQ(scenario.state(), Leader::State::Finishing);
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(describe_exit(*scenario.end), "exit code 69: node 1 (host-b): " + kFailed +
                                              "; also unfit: node 2 (host-c); start the job again without unfit nodes");
  EXPECT_FALSE(scenario.last_start) << "no worker runs";
}

TEST(PreflightCommand, NamesANodeByItsSeatAsOtherLinesDo) {
  LeaderScenario scenario(checking(job_of(2, 4)));
  (void)scenario.arrive(2, 2);
  (void)scenario.wait(GangOptions().last_call);
  answer(scenario, kOwnLink);
  answer(scenario, 2, kFailed);
  EXPECT_EQ(scenario.announced, std::vector<std::string>{"node 2 (host-c): " + kFailed});
}

TEST(PreflightCommand, NamesSixteenBadNodes) {
  const LeaderScenario scenario = answered(job_of(20), 20, std::vector<std::string>(20, kFailed));
  EXPECT_EQ(scenario.announced.size(), 16U);
  EXPECT_EQ(scenario.end->reason, "node 0 (host-a): " + kFailed +
                                      "; also unfit: node 1 (host-b), node 2 (host-c), node 3 (host-d), node 4 "
                                      "(host-e), ...");
}

TEST(PreflightCommand, ASpareRunsItAndHasTheSeat) {
  LeaderScenario scenario = answered(restarting(job_of(3)), 3, {kCommandPassed, kFailed, kCommandPassed});
  EXPECT_TRUE(
      scenario.has_said("waiting up to 30 s for a spare in the place of a node that failed the preflight command"))
      << scenario.all_said();
  const std::string spare = scenario.arrive(3);
  EXPECT_NE(spare.find("3: " + kAsked), std::string::npos) << spare;
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  answer(scenario, 3);

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 3, 2}));
  ASSERT_TRUE(scenario.end) << "the bad node is sent away";
  EXPECT_EQ(scenario.end->exit_code, 69);
}

TEST(PreflightCommand, EndsTheJobWhenNoSpareComes) {
  LeaderScenario scenario = answered(restarting(job_of(2)), 2, {kCommandPassed, kFailed});
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  (void)scenario.wait(GangOptions().last_call);
  EXPECT_EQ(scenario.state(), Leader::State::Finishing);
  EXPECT_EQ(scenario.end->exit_code, 69);
}

TEST(PreflightCommand, EndsAJobWhoseLeaderIsBad) {
  LeaderScenario scenario = answered(restarting(job_of(1)), 1, {kFailed});
  EXPECT_EQ(scenario.state(), Leader::State::Finished);
  EXPECT_EQ(scenario.end->reason, "node 0 (host-a): " + kFailed);
}

TEST(PreflightCommand, GivesUpANodeThatDoesNotAnswer) {
  LeaderScenario scenario = answered(job_of(2), 2, {kCommandPassed});
  (void)scenario.wait(seconds(80) - milliseconds(1));
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  (void)scenario.wait(milliseconds(1));

  EXPECT_EQ(scenario.state(), Leader::State::Finishing);
  EXPECT_EQ(scenario.end->reason, "node 1 (host-b): it has not reported within 80 s how the preflight command ended");
}

TEST(PreflightCommand, SaysLessAndLessOftenWhereItStillRuns) {
  LeaderScenario scenario(checking(job_of(8)));
  (void)scenario.arrive_all(8);
  (void)scenario.wait(seconds(10) - milliseconds(1));
  EXPECT_FALSE(scenario.has_said("still runs"));
  (void)scenario.wait(milliseconds(1));
  EXPECT_TRUE(
      scenario.has_said("the preflight command still runs on 8 nodes after 10.00 s: node 0 (host-a), node 1 "
                        "(host-b), node 2 (host-c), node 3 (host-d), ..."))
      << scenario.all_said();
  for (const LinkId link : {0, 1, 2, 3, 4, 6}) {
    answer(scenario, link);
  }
  (void)scenario.wait(seconds(10) - milliseconds(1));
  EXPECT_FALSE(scenario.has_said("on 2 nodes"));
  (void)scenario.wait(milliseconds(1));
  EXPECT_TRUE(scenario.has_said("still runs on 2 nodes after 20.00 s: node 5 (host-f), node 7 (host-h)"))
      << scenario.all_said();
}

TEST(PreflightCommand, NamesTheLastNodeWhenAllOthersAreDone) {
  LeaderScenario scenario(checking(job_of(3)));
  (void)scenario.arrive_all(3);
  (void)scenario.wait(seconds(1));
  answer(scenario, kOwnLink);
  answer(scenario, 1);
  (void)scenario.wait(seconds(7) - milliseconds(1));
  EXPECT_TRUE(scenario.announced.empty());
  (void)scenario.wait(milliseconds(1));
  EXPECT_EQ(scenario.announced, (std::vector<std::string>{
                                    "node 2 (host-c) is the last: the preflight command has run there for 8.00 s, and "
                                    "has taken 1.00 s on others"}));
  (void)scenario.wait(seconds(9));
  answer(scenario, 2);

  EXPECT_EQ(scenario.announced.size(), 1U);
  EXPECT_EQ(scenario.state(), Leader::State::Running) << "a slow node is no bad one";
}

TEST(PreflightCommand, OfTwoNodesNoneIsTheLast) {
  LeaderScenario scenario = answered(job_of(2), 2, {kCommandPassed});
  (void)scenario.wait(seconds(59));
  EXPECT_TRUE(scenario.announced.empty());
}

TEST(PreflightCommand, IsAskedForAgainAfterAFailure) {
  LeaderScenario scenario = answered(restarting(job_of(2)), 2, {kCommandPassed, kCommandPassed});
  ASSERT_EQ(scenario.state(), Leader::State::Running);
  const std::string after = scenario.fail_all(0);
  EXPECT_NE(after.find("0: " + kAsked), std::string::npos) << after;
  EXPECT_NE(after.find("1: " + kAsked), std::string::npos) << after;
  answer(scenario, kOwnLink);
  answer(scenario, 1);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
}

/// The second attempt waits for the command, on both nodes of two, or on all of `config`.
LeaderScenario restarted(const GangConfig& config) {
  const int nodes = config.job.most_nodes;
  LeaderScenario scenario =
      answered(restarting(config), nodes, std::vector<std::string>(static_cast<std::size_t>(nodes), kCommandPassed));
  (void)scenario.fail_all(0);
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  return scenario;
}

TEST(PreflightCommand, FailsBeforeARestartAsBeforeTheStart) {
  LeaderScenario scenario = restarted(job_of(2));
  answer(scenario, kOwnLink);
  answer(scenario, 1, kFailed);
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous) << "a spare may come";
  const std::string spare = scenario.arrive(3);
  EXPECT_NE(spare.find("3: " + kAsked), std::string::npos) << spare;
  answer(scenario, 3);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 3}));
  EXPECT_EQ(scenario.announced, std::vector<std::string>{"node 1 (host-b): " + kFailed});

  LeaderScenario alone = restarted(job_of(2));
  answer(alone, kOwnLink);
  answer(alone, 1, kFailed);
  (void)alone.wait(GangOptions().last_call);
  ASSERT_TRUE(alone.end);
  EXPECT_EQ(alone.end->exit_code, 69);
  EXPECT_EQ(alone.announced.size(), 1U);
}

TEST(PreflightCommand, DoesNotWaitBeforeARestartForANodeThatIsLost) {
  LeaderScenario scenario = restarted(job_of(2));
  answer(scenario, kOwnLink);
  (void)scenario.lose(1);
  const std::string newcomer = scenario.arrive(3);
  EXPECT_NE(newcomer.find("3: " + kAsked), std::string::npos) << newcomer;
  EXPECT_EQ(newcomer.find("0: " + kAsked), std::string::npos) << "once for each node";
  answer(scenario, 3);
  EXPECT_EQ(scenario.state(), Leader::State::Running);

  LeaderScenario alone = restarted(job_of(2));
  answer(alone, kOwnLink);
  (void)alone.lose(1);
  (void)alone.wait(GangOptions().timeout);
  ASSERT_TRUE(alone.end);
  EXPECT_EQ(alone.end->exit_code, 69);
  EXPECT_TRUE(alone.announced.empty()) << "no command has failed";
}

TEST(PreflightCommand, AStopBeforeTheLastRestartLeavesTheJobToASpare) {
  LeaderScenario scenario = answered(restarting(job_of(2), 1), 2, {kCommandPassed, kCommandPassed});
  (void)scenario.arrive(3);
  (void)scenario.fail_all(0);
  answer(scenario, kOwnLink);
  (void)scenario.receive(1, StopFromAgent{SIGTERM});
  answer(scenario, 3);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 3}));
}

TEST(PreflightCommand, RunsAlsoOnANodeThatComesWhileThePortIsReserved) {
  LeaderScenario scenario(checking(restarting(job_of(2, 3))));
  scenario.answers_port = false;
  (void)scenario.arrive(1, 1);
  (void)scenario.wait(GangOptions().last_call);
  answer(scenario, kOwnLink);
  answer(scenario, 1);
  (void)scenario.arrive(2, 2);
  const std::string reserved = scenario.happen(PortReserved{4'001, ""});
  EXPECT_NE(reserved.find("2: " + kAsked), std::string::npos) << reserved;
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  scenario.answers_port = true;
  answer(scenario, 2);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes().size(), 3U);
}

TEST(PreflightCommand, NewNodesAloneRunItWhereTheJobHasOnlyGrown) {
  GangConfig config = checking(job_of(2, 3));
  config.options.scale_up = ScaleUp::Now;
  LeaderScenario scenario(config);
  (void)scenario.arrive_all(2);
  (void)scenario.wait(config.options.last_call);
  answer(scenario, kOwnLink);
  answer(scenario, 1);
  ASSERT_EQ(scenario.state(), Leader::State::Running);
  (void)scenario.arrive(2);
  (void)scenario.wait(config.options.last_call);
  ASSERT_EQ(scenario.state(), Leader::State::Stopping);
  const std::string after = scenario.end_all();
  EXPECT_EQ(after.find("0: " + kAsked), std::string::npos) << after;
  EXPECT_NE(after.find("2: " + kAsked), std::string::npos) << after;
  answer(scenario, 2);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes().size(), 3U);
}

TEST(PreflightCommand, ANodeWithoutOneStartsAndIsNamed) {
  LeaderScenario scenario = answered(job_of(2), 2, {kCommandPassed, ""});
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_TRUE(scenario.has_said("node 1 (host-b) has no --preflight-command: it starts without that check"));
}

TEST(PreflightCommand, OneAgentOfEachHostRunsIt) {
  GangConfig config = job_of(3);
  config.job.are_tasks = true;
  LeaderScenario scenario(checking(config));
  (void)scenario.arrive(1, 1);
  Join beside = scenario.join_of(2, 2);
  beside.node.host = "host-b";
  const std::string all_here = scenario.arrive(2, beside);
  EXPECT_NE(all_here.find("1: " + kAsked), std::string::npos) << all_here;
  EXPECT_EQ(all_here.find("2: " + kAsked), std::string::npos) << all_here;
  answer(scenario, kOwnLink);
  answer(scenario, 1);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
}

TEST(PreflightCommand, DoesNotWaitForANodeThatIsLost) {
  LeaderScenario scenario = answered(job_of(2), 2, {kCommandPassed});
  (void)scenario.lose(1);
  EXPECT_EQ(scenario.wait(seconds(200)).find("asked"), std::string::npos);
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  (void)scenario.arrive(1, 1);
  answer(scenario, 1);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
}

TEST(PreflightCommand, KeepsAHostileAnswerShortAndOnOneLine) {
  LeaderScenario scenario = answered(job_of(2), 2, {kCommandPassed, "\x1b[2J\n" + std::string(100'000, 'x')});
  ASSERT_EQ(scenario.announced.size(), 1U);
  EXPECT_LT(scenario.announced.front().size(), 500U);
  EXPECT_EQ(scenario.announced.front().find_first_of("\x1b\n"), std::string::npos);
}

TEST(CommandQuestion, SurvivesTheWireAndNothingElseDoes) {
  const auto read = parse_command_question(to_text({3, 64, 2, seconds(90)}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->node, 3);
  EXPECT_EQ(read->nodes, 64);
  EXPECT_EQ(read->attempt, 2);
  EXPECT_EQ(read->limit, seconds(90));
  for (const char* const text : {"", "facts", "command", "command 1 2 3", "command 1 2 3 x", "command 1 2 3 -4",
                                 "command 1 2 3 4 5", "commands 1 2 3 4"}) {
    EXPECT_FALSE(parse_command_question(text)) << text;
  }
  EXPECT_LE(to_text({1'000'000, 1'000'000, 2'147'483'647, std::chrono::hours(999'999)}).size(), kMostKeyBytes);
}

}  // namespace
}  // namespace muster::gang
