// The leader asks the nodes for their facts. What differs is decided elsewhere: here a node differs if its text is not
// "usual", and is unfit if that is "unfit".
#include "gang/protocol/leader_scenario.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster::gang {
namespace {

PreflightVerdict judge_words(const std::vector<ToldFacts>& told) {
  PreflightVerdict verdict;
  for (const ToldFacts& one : told) {
    if (one.text != "usual") {
      verdict.outliers.push_back({one.node, one.host, static_cast<int>(told.size()) - 1, "facts " + one.text});
    }
    if (one.text == "unfit") {
      verdict.unfit.push_back(verdict.outliers.back());
    }
  }
  verdict.mixed = told.size() == 2 ? "only two have told" : "";
  return verdict;
}

GangConfig comparing(GangConfig config) {
  config.judge_facts = judge_words;
  return config;
}

void tell(LeaderScenario& scenario, LinkId link, const std::string& text) {
  (void)scenario.receive(link, StatusReport{0, text});
}

/// Its nodes have been asked.
LeaderScenario asked(const GangConfig& config, int nodes) {
  LeaderScenario scenario = running(comparing(config), nodes);
  (void)scenario.wait(Preflight::kPause);
  return scenario;
}

TEST(LeaderPreflight, AsksTheNodesAMomentAfterTheStart) {
  LeaderScenario scenario(comparing(job_of(3)));
  EXPECT_EQ(scenario.first_words.find("status asked"), std::string::npos) << scenario.first_words;
  EXPECT_EQ(scenario.arrive_all(3).find("status asked"), std::string::npos) << "the join does not pay for it";
  EXPECT_EQ(scenario.wait(Preflight::kPause - milliseconds(1)), "");
  EXPECT_EQ(scenario.wait(milliseconds(1)), "0,1,2: status asked 0");

  LeaderScenario other = running(job_of(3), 3);
  EXPECT_EQ(other.wait(seconds(60)), "");
}

TEST(LeaderPreflight, TellsAllNodesWhichOneDiffers) {
  LeaderScenario scenario = asked(job_of(3), 3);
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 2, "odd");
  EXPECT_EQ(scenario.wait(seconds(1)), "") << "one has not answered";
  tell(scenario, 1, "usual");
  const std::string said = scenario.wait(milliseconds(1));

  EXPECT_NE(said.find("differs from 2 others: facts odd"), std::string::npos) << said;
  EXPECT_EQ(said.substr(0, 6), "0,1,2:") << said;
  EXPECT_EQ(scenario.wait(seconds(60)), "") << "it is said once";
}

TEST(LeaderPreflight, JudgesWithoutANodeThatDoesNotAnswer) {
  LeaderScenario scenario = asked(job_of(4), 4);
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 1, "odd");
  tell(scenario, 2, "usual");
  EXPECT_EQ(scenario.wait(seconds(9)), "");
  EXPECT_NE(scenario.wait(seconds(2)).find("node 1 (host-b) differs from 2 others"), std::string::npos);

  tell(scenario, 3, "late");
  EXPECT_NE(scenario.wait(milliseconds(1)).find("node 3 (host-d) differs from 3 others"), std::string::npos)
      << "its answer is judged all the same";
}

TEST(LeaderPreflight, DoesNotWaitForANodeThatIsGone) {
  LeaderScenario scenario = asked(restarting(job_of(3, 4)), 4);
  (void)scenario.lose(3);
  (void)scenario.end_all();
  (void)scenario.wait(seconds(60));
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 1, "odd");
  tell(scenario, 2, "usual");
  (void)scenario.wait(milliseconds(1));

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes().size(), 3U);
  ASSERT_EQ(scenario.announced.size(), 1U);
  EXPECT_NE(scenario.announced.front().find("node 1 (host-b) differs from 2 others"), std::string::npos);
}

TEST(LeaderPreflight, ComparesAgainAfterARestart) {
  LeaderScenario scenario = asked(restarting(job_of(3)), 3);
  const auto tell_all = [&](const std::string& last) {
    for (const LinkId link : {0, 1, 2}) {
      tell(scenario, link, link == 2 ? last : "usual");
    }
    (void)scenario.wait(milliseconds(1));
  };
  tell_all("usual");
  (void)scenario.fail_all(0);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.wait(seconds(1)), "0,1,2: status asked 0");
  tell_all("odd");
  (void)scenario.fail_all(1);
  EXPECT_NE(scenario.wait(seconds(9)).find("0,1,2: status asked 0"), std::string::npos);
  tell_all("odd");

  EXPECT_EQ(scenario.announced.size(), 1U) << "a difference is said once";
}

TEST(LeaderPreflight, SaysANodesDifferenceWithItsStatusAndAtTheEnd) {
  LeaderScenario scenario = asked(job_of(3), 3);
  for (const LinkId link : {0, 1, 2}) {
    tell(scenario, link, link == 2 ? "odd" : "usual");
  }
  (void)scenario.wait(milliseconds(1));
  (void)scenario.receive(1, StatusQuery{42});
  (void)scenario.receive(2, StatusReport{1, "{}"});
  EXPECT_EQ(scenario.last_report.differs, "facts odd");
  (void)scenario.receive(1, StatusReport{1, "{}", 0, "", "a node does not say that of itself"});
  EXPECT_EQ(scenario.last_report.differs, "");

  (void)scenario.fail_all(0);
  ASSERT_TRUE(scenario.end.has_value());
  EXPECT_EQ(scenario.end->gang.outliers, (std::vector<Outlier>{{NodeRank{2}, "host-c", 2, "facts odd"}}));
}

TEST(LeaderPreflight, TakesOneAnswerOfEachNodeAndNoLongOne) {
  LeaderScenario scenario = asked(job_of(3), 3);
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 1, "usual");
  tell(scenario, 1, "odd");
  tell(scenario, 2, std::string(5'000, 'x'));

  (void)scenario.wait(seconds(60));
  EXPECT_TRUE(scenario.announced.empty());
  EXPECT_TRUE(scenario.has_said("the nodes are of several kinds: only two have told"));
}

TEST(LeaderPreflight, NamesSixteenNodesAndCountsTheRest) {
  LeaderScenario scenario = asked(job_of(20), 20);
  for (LinkId link = 0; link < 20; ++link) {
    tell(scenario, link, link == 0 ? "usual" : "odd");
  }
  (void)scenario.wait(milliseconds(1));

  ASSERT_EQ(scenario.announced.size(), 17U);
  EXPECT_EQ(scenario.announced.back(), "3 more nodes differ: muster status --json names them");
}

// --- Strictly -----------------------------------------------------------------------------------

GangConfig strict(GangConfig config) {
  config.options.preflight.compares = ComparesNodes::Strictly;
  return comparing(std::move(config));
}

/// A job of three nodes that are here; those from 1 on tell `texts`.
LeaderScenario met(const GangConfig& config, const std::vector<std::string>& texts) {
  LeaderScenario scenario(strict(config));
  tell(scenario, kOwnLink, "usual");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    (void)scenario.arrive(i + 1);
    tell(scenario, i + 1, texts[i]);
  }
  return scenario;
}

TEST(StrictPreflight, AsksEachNodeThatJoinsAndStartsWhenAllAreAlike) {
  LeaderScenario scenario(strict(job_of(3)));
  EXPECT_NE(scenario.first_words.find("0: status asked 0"), std::string::npos) << scenario.first_words;
  EXPECT_NE(scenario.arrive(1).find("1: status asked 0"), std::string::npos);
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 1, "odd");
  (void)scenario.arrive(2);
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  EXPECT_EQ(scenario.wait(seconds(1)), "");
  tell(scenario, 2, "usual");

  EXPECT_EQ(scenario.state(), Leader::State::Running) << "an odd node is no unfit one";
  ASSERT_EQ(scenario.announced.size(), 1U);
  EXPECT_EQ(scenario.announced.front(), "node 1 (host-b) differs from 2 others: facts odd");
  EXPECT_EQ(scenario.wait(seconds(60)), "");
}

TEST(StrictPreflight, StartsWithANodeThatTellsNothing) {
  LeaderScenario scenario(strict(job_of(3)));
  (void)scenario.arrive_all(3);
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 1, "");
  EXPECT_EQ(scenario.wait(Preflight::kMostDelay - milliseconds(1)), "");
  (void)scenario.wait(milliseconds(1));

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_TRUE(scenario.has_said("node 1 (host-b) has sent no facts: it starts without being compared"));
  EXPECT_TRUE(scenario.has_said("node 2 (host-c) has sent no facts: it starts without being compared"));
}

TEST(StrictPreflight, EndsAJobThatHasNoSpare) {
  LeaderScenario scenario = met(job_of(3), {"unfit", "usual"});

  EXPECT_EQ(scenario.state(), Leader::State::Finishing);
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->exit_code, 69);
  EXPECT_EQ(
      describe_exit(*scenario.end),
      "exit code 69: node 1 (host-b) differs from 2 others: facts unfit; start the job again without unfit nodes");
  EXPECT_FALSE(scenario.last_start) << "no worker runs";
}

TEST(StrictPreflight, GivesTheSeatToASpare) {
  LeaderScenario scenario = met(restarting(job_of(3)), {"usual", "unfit", "usual"});

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 3}));
  ASSERT_TRUE(scenario.end) << "the unfit node is sent away";
  EXPECT_EQ(scenario.end->exit_code, 69);
  EXPECT_EQ(scenario.end->reason, "node 2 (host-c) differs from 2 others: facts unfit");
}

TEST(StrictPreflight, WaitsForTheFactsOfASpare) {
  LeaderScenario scenario = met(restarting(job_of(3)), {"usual", "unfit"});
  EXPECT_TRUE(scenario.has_said("waiting up to 30 s for a spare in the place of a node that differs from the others"));
  EXPECT_EQ(scenario.wait(seconds(9)), "");
  (void)scenario.arrive(3);
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  EXPECT_EQ(scenario.leader().roster().find(2), nullptr) << "the spare has its seat";
  tell(scenario, 3, "usual");

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 3}));
}

TEST(StrictPreflight, EndsWhenNoSpareComes) {
  LeaderScenario scenario = met(restarting(job_of(3)), {"usual", "unfit"});
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  (void)scenario.wait(GangOptions().last_call);

  EXPECT_EQ(scenario.state(), Leader::State::Finishing);
  EXPECT_EQ(scenario.end->exit_code, 69);
}

TEST(StrictPreflight, EndsIfASpareIsUnfitAsWell) {
  LeaderScenario scenario = met(restarting(job_of(3)), {"usual", "unfit", "unfit"});
  (void)scenario.wait(seconds(60));

  EXPECT_EQ(scenario.state(), Leader::State::Finished) << scenario.all_said();
  EXPECT_EQ(scenario.end->reason, "node 2 (host-d) differs from 2 others: facts unfit");
}

TEST(StrictPreflight, StartsASmallerJobIfThatIsAllowed) {
  LeaderScenario scenario = met(job_of(2, 4), {"usual", "unfit", "usual"});

  EXPECT_EQ(scenario.leader().roster().find(2), nullptr);
  (void)scenario.wait(seconds(30));
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 3}));
}

TEST(StrictPreflight, EndsAJobWhoseLeaderIsUnfit) {
  LeaderScenario scenario(strict(restarting(job_of(3))));
  tell(scenario, kOwnLink, "unfit");
  for (const LinkId link : {1, 2, 3}) {
    (void)scenario.arrive(link);
    tell(scenario, link, "usual");
  }

  EXPECT_EQ(scenario.state(), Leader::State::Finishing);
  EXPECT_EQ(scenario.end->reason, "node 0 (host-a) differs from 2 others: facts unfit");
}

TEST(StrictPreflight, AsksAgainBeforeARestart) {
  LeaderScenario scenario = met(restarting(job_of(3)), {"usual", "usual", "usual"});
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  const std::string after = scenario.fail_all(0);
  EXPECT_NE(after.find("0,1,2,3: status asked 0"), std::string::npos) << after;
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  for (const LinkId link : {0, 1, 2, 3}) {
    tell(scenario, link, link == 1 ? "unfit" : "usual");
  }

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 3, 2})) << "the spare has the seat of node 1";
}

TEST(StrictPreflight, DoesNotWaitForANodeThatLeaves) {
  LeaderScenario scenario(strict(job_of(3)));
  (void)scenario.arrive_all(3);
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 1, "usual");
  (void)scenario.lose(2);
  (void)scenario.wait(seconds(60));
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  (void)scenario.arrive(2, 2);
  tell(scenario, 2, "usual");
  EXPECT_EQ(scenario.state(), Leader::State::Running);
}

}  // namespace
}  // namespace muster::gang
