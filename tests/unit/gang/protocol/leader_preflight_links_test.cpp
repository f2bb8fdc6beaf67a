// The leader has the nodes measure the links between them; here a test says what they find.
#include "gang/protocol/leader_scenario.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::gang {
namespace {

const std::string kGoodLinks = " 100,1000,0 100,1000,0 100,1000,0";
const std::string kLossyLinks = " 100,1000,9 100,1000,9 100,1000,9";
const std::string kLinkLoss = "link loss 9.00 % (0.00 %) in 3 of 3 rounds";

/// A job whose judge takes a node for bad that has told a loss.
GangConfig measuring(GangConfig config, ComparesNodes compares = ComparesNodes::Auto) {
  config.options.preflight = {compares, false, true};
  config.judge_facts = [](const std::vector<ToldFacts>& /*told*/) { return PreflightVerdict(); };
  config.judge_links = [](const std::vector<NodeLinkResults>& told, const LinkRounds& /*rounds*/) {
    LinkVerdict verdict;
    for (const NodeLinkResults& node : told) {
      if (node.results && !node.results->rounds.empty() && node.results->rounds[0]->loss > 0) {
        verdict.outliers.push_back({node.node, node.host, static_cast<int>(told.size()) - 1, kLinkLoss});
      }
    }
    return verdict;
  };
  return config;
}

void reply(LeaderScenario& scenario, LinkId link, const std::string& text) {
  (void)scenario.receive(link, StatusReport{kLinksNumber, text});
}

void listens(LeaderScenario& scenario, LinkId link, int check = 1) {
  reply(scenario, link,
        "listens " + std::to_string(check) + " " + std::to_string(7'000 + link) + " key" + std::to_string(link));
}

void measured(LeaderScenario& scenario, LinkId link, bool is_bad = false, int check = 1) {
  reply(scenario, link, "measured " + std::to_string(check) + (is_bad ? kLossyLinks : kGoodLinks));
}

/// Four nodes are here, and the first `listening` ones listen.
LeaderScenario met(const GangConfig& config, LinkId listening = 4) {
  LeaderScenario scenario(config);
  (void)scenario.arrive_all(4);
  if (config.options.preflight.compares == ComparesNodes::Strictly) {
    for (LinkId link = 0; link < 4; ++link) {
      (void)scenario.receive(link, StatusReport{0, "{}"});
    }
  }
  for (LinkId link = 0; link < listening; ++link) {
    listens(scenario, link);
  }
  return scenario;
}

TEST(PreflightLinks, TellsEachNodeItsPartners) {
  LeaderScenario scenario = met(measuring(job_of(4)), 3);
  EXPECT_EQ(scenario.asked[0].number, kLinksNumber);
  EXPECT_EQ(scenario.asked[0].what, "listen 1 10.0.0.1");
  EXPECT_EQ(scenario.asked[3].what, "listen 1 10.0.0.4");
  listens(scenario, 3);

  EXPECT_EQ(scenario.asked[0].what, "measure 1 10.0.0.4,7003,key3 wait 10.0.0.2,7001,key1");
  EXPECT_EQ(scenario.asked[3].what, "measure 1 wait wait wait");
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
}

TEST(PreflightLinks, NamesABadNodeOnAllAndStarts) {
  LeaderScenario scenario = met(measuring(job_of(4)));
  for (const LinkId link : {0, 1, 2}) {
    measured(scenario, link, link == 2);
  }
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  measured(scenario, 3);

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.announced, (std::vector<std::string>{"node 2 (host-c) differs from 3 others: " + kLinkLoss}));
  for (LinkId link = 0; link < 4; ++link) {  // their facts do not differ
    (void)scenario.wait(milliseconds(250));
    (void)scenario.receive(link, StatusReport{0, "{}"});
  }
  (void)scenario.wait(seconds(11));
  (void)scenario.receive(kOwnLink, StopFromAgent{SIGTERM});
  (void)scenario.end_all();
  ASSERT_TRUE(scenario.end);
  ASSERT_EQ(scenario.end->gang.outliers.size(), 1U);
  EXPECT_EQ(scenario.end->gang.outliers[0].facts, kLinkLoss);
  EXPECT_EQ(scenario.end->gang.outliers[0].node, NodeRank{2});
}

TEST(PreflightLinks, StartsWithoutANodeThatDoesNotListen) {
  LeaderScenario scenario = met(measuring(job_of(4)), 2);
  reply(scenario, 2, "");          // an older muster
  reply(scenario, 3, "cannot 7");  // of an earlier check
  (void)scenario.wait(PreflightLinks::kTimeToListen - milliseconds(1));
  EXPECT_EQ(scenario.asked[0].what, "listen 1 10.0.0.1");
  (void)scenario.wait(milliseconds(1));

  EXPECT_EQ(scenario.state(), Leader::State::Running) << "two that listen are no majority";
  EXPECT_TRUE(scenario.has_said("node 2 (host-c) cannot measure its links: it starts without that check"));
  EXPECT_TRUE(scenario.has_said("node 3 (host-d) cannot measure its links: it starts without that check"));
}

TEST(PreflightLinks, DoesNotWaitForANodeThatTellsNothing) {
  LeaderScenario scenario = met(measuring(job_of(4)));
  for (const LinkId link : {0, 1, 2}) {
    measured(scenario, link);
  }
  (void)scenario.wait(4 * kLinkRoundTime + PreflightLinks::kTimeToTell - milliseconds(1));
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  (void)scenario.wait(milliseconds(1));

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_TRUE(scenario.has_said("node 3 (host-d) has not reported its links: it starts without that check"));
  EXPECT_TRUE(scenario.announced.empty());
}

TEST(PreflightLinks, DoesNotWaitForANodeThatRefuses) {
  LeaderScenario scenario = met(measuring(job_of(4)), 3);
  reply(scenario, 3, "cannot 1");
  EXPECT_EQ(scenario.asked[0].what, "measure 1 rest wait 10.0.0.2,7001,key1");
  for (const LinkId link : {0, 1}) {
    measured(scenario, link);
  }
  reply(scenario, 2, "cannot 1");
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_TRUE(scenario.has_said("node 2 (host-c) has not reported its links: it starts without that check"));
}

TEST(PreflightLinks, SuspectsMeasureTheLinksBetweenThem) {
  GangConfig config = measuring(job_of(4));
  config.judge_links = [](const std::vector<NodeLinkResults>& told, const LinkRounds& rounds) {
    LinkVerdict verdict;
    verdict.unknown = {NodeRank{1}};
    if (rounds.size() == 3) {
      verdict.doubtful = {NodeRank{3}};
      verdict.outliers = {{NodeRank{2}, "host-c", 2, kLinkLoss}};
    } else if (rounds.size() == 4 && rounds[3].size() == 1 && told[2].results->rounds.size() == 4) {
      verdict.mixed = "link loss 9.00 % on " + std::to_string(told[2].results->rounds[3]->loss) + " links";
    }
    return verdict;
  };
  LeaderScenario scenario = met(config);
  for (LinkId link = 0; link < 4; ++link) {
    measured(scenario, link);
  }
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  EXPECT_EQ(scenario.asked[2].what, "listen 2 10.0.0.3");
  EXPECT_EQ(scenario.asked[3].what, "listen 2 10.0.0.4");
  listens(scenario, 2, 2);
  listens(scenario, 3, 2);
  EXPECT_EQ(scenario.asked[3].what, "measure 2 10.0.0.3,7002,key2");
  EXPECT_EQ(scenario.asked[2].what, "measure 2 wait");
  EXPECT_EQ(scenario.asked[0].what.substr(0, 9), "measure 1");
  reply(scenario, 2, "measured 2 100,1000,5");
  reply(scenario, 3, "measured 2 100,1000,5");
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_TRUE(scenario.announced.empty());
  EXPECT_TRUE(scenario.has_said("the links between the nodes are of several kinds: link loss 9.00 % on 5 links"));
  EXPECT_TRUE(scenario.has_said("node 1 (host-b) was measured in too few rounds: it starts without that check"));
}

TEST(PreflightLinks, AreNotMeasuredOnOneHost) {
  LeaderScenario scenario(measuring(job_of(3)));
  for (const LinkId link : {1, 2}) {
    (void)scenario.happen(Joined{link, "10.0.0.1", "10.0.0.1", scenario.join_of(link, link)});
  }
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_TRUE(scenario.has_said("all nodes are on one host: --preflight links has no link to measure"));
}

TEST(PreflightLinks, SaysThatNoNodeHasReachedAnother) {
  LeaderScenario scenario = met(measuring(job_of(4)));
  scenario.said.clear();
  for (LinkId link = 0; link < 4; ++link) {
    reply(scenario, link, "measured 1");
  }
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_TRUE(scenario.has_said("no node has reached another one")) << scenario.all_said();
}

TEST(PreflightLinks, SendsABadNodeAwayWhereTheChoiceIsStrict) {
  LeaderScenario scenario = met(measuring(restarting(job_of(4)), ComparesNodes::Strictly));
  for (LinkId link = 0; link < 4; ++link) {
    measured(scenario, link, link == 2);
  }
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  (void)scenario.arrive(4);
  (void)scenario.receive(4, StatusReport{0, "{}"});
  EXPECT_EQ(scenario.asked[1].what, "listen 2 10.0.0.2") << "a new node has come";
  for (const LinkId link : {0, 1, 3, 4}) {
    listens(scenario, link, 2);
  }
  for (const LinkId link : {0, 1, 3, 4}) {
    measured(scenario, link, false, 2);
  }
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 4, 3}));
}

TEST(PreflightLinks, EndsAStrictJobWithoutASpare) {
  LeaderScenario scenario = met(measuring(job_of(4), ComparesNodes::Strictly));
  for (LinkId link = 0; link < 4; ++link) {
    measured(scenario, link, link == 2);
  }
  EXPECT_EQ(scenario.state(), Leader::State::Finishing);
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(describe_exit(*scenario.end), "exit code 69: node 2 (host-c) differs from 3 others: " + kLinkLoss +
                                              "; start the job again without unfit nodes");
  EXPECT_FALSE(scenario.last_start) << "no worker runs";
}

TEST(PreflightLinks, AreMeasuredAgainBeforeARestart) {
  LeaderScenario scenario = met(measuring(restarting(job_of(4))));
  for (LinkId link = 0; link < 4; ++link) {
    measured(scenario, link);
  }
  ASSERT_EQ(scenario.state(), Leader::State::Running);
  (void)scenario.fail_all(0);
  EXPECT_EQ(scenario.asked[3].what, "listen 2 10.0.0.4");
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
}

TEST(PreflightLinks, AnswersOfAnEarlierCheckDoNotCount) {
  LeaderScenario scenario = met(measuring(job_of(4)), 3);
  listens(scenario, 3, 7);
  measured(scenario, 3);
  reply(scenario, 3, "\x1b[31mowned");
  EXPECT_EQ(scenario.asked[0].what, "measure 1 rest wait 10.0.0.2,7001,key1")
      << "what is no answer is that of an older muster";
}

TEST(PreflightLinks, ANodeThatIsLostMeanwhileHoldsNothingBack) {
  LeaderScenario scenario = met(measuring(job_of(3, 4)), 0);
  (void)scenario.lose(3);
  for (const LinkId link : {0, 1, 2}) {
    listens(scenario, link);
  }
  (void)scenario.wait(GangOptions().last_call);
  for (const LinkId link : {0, 1, 2}) {
    measured(scenario, link);
  }
  EXPECT_EQ(scenario.state(), Leader::State::Running) << scenario.all_said();
}

TEST(PreflightLinks, AreNotMeasuredOnTwoNodes) {
  LeaderScenario scenario(measuring(job_of(2)));
  (void)scenario.arrive_all(2);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
}

}  // namespace
}  // namespace muster::gang
