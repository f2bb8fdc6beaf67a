// The leader asks the nodes for their facts, and nothing waits for the answers. What differs is decided elsewhere: here a
// node differs if its text is not "usual".
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

TEST(LeaderPreflight, AsksEachNodeThatJoins) {
  LeaderScenario scenario(comparing(job_of(3)));
  EXPECT_NE(scenario.first_words.find("0: status asked 0"), std::string::npos) << scenario.first_words;
  EXPECT_NE(scenario.arrive(1).find("1: status asked 0"), std::string::npos);

  LeaderScenario other(job_of(3));
  EXPECT_EQ(other.first_words.find("status asked"), std::string::npos);
}

TEST(LeaderPreflight, TellsAllNodesWhichOneDiffers) {
  LeaderScenario scenario = running(comparing(job_of(3)), 3);
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 2, "odd");
  EXPECT_EQ(scenario.wait(seconds(1)), "") << "one has not answered";
  tell(scenario, 1, "usual");
  const std::string said = scenario.wait(milliseconds(1));

  EXPECT_NE(said.find("differs from 2 others: facts odd"), std::string::npos) << said;
  EXPECT_EQ(said.substr(0, 6), "0,1,2:") << said;
  EXPECT_EQ(scenario.wait(seconds(60)), "") << "it is said once";
}

TEST(LeaderPreflight, JudgesAfterTheStart) {
  LeaderScenario scenario(comparing(job_of(3)));
  tell(scenario, kOwnLink, "usual");
  (void)scenario.arrive(1, 1);
  tell(scenario, 1, "odd");
  const std::string start = scenario.arrive(2, 2);
  EXPECT_NE(start.find("start"), std::string::npos) << start;
  tell(scenario, 2, "usual");

  EXPECT_NE(scenario.wait(milliseconds(1)).find("node 1 (host-b) differs from 2 others"), std::string::npos);
}

TEST(LeaderPreflight, JudgesWithoutANodeThatDoesNotAnswer) {
  LeaderScenario scenario = running(comparing(job_of(4)), 4);
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
  LeaderScenario scenario = running(comparing(restarting(job_of(3, 4))), 4);
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 1, "odd");
  tell(scenario, 2, "usual");
  (void)scenario.lose(3);
  (void)scenario.end_all();
  (void)scenario.wait(seconds(60));

  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes().size(), 3U);
  ASSERT_EQ(scenario.announced.size(), 1U);
  EXPECT_NE(scenario.announced.front().find("node 1 (host-b) differs from 2 others"), std::string::npos);
}

TEST(LeaderPreflight, SaysANodesDifferenceWithItsStatusAndAtTheEnd) {
  LeaderScenario scenario = running(comparing(job_of(3)), 3);
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
  LeaderScenario scenario = running(comparing(job_of(3)), 3);
  tell(scenario, kOwnLink, "usual");
  tell(scenario, 1, "usual");
  tell(scenario, 1, "odd");
  tell(scenario, 2, std::string(5'000, 'x'));

  (void)scenario.wait(seconds(60));
  EXPECT_TRUE(scenario.announced.empty());
  EXPECT_TRUE(scenario.has_said("the nodes are of several kinds: only two have told"));
}

TEST(LeaderPreflight, NamesSixteenNodesAndCountsTheRest) {
  LeaderScenario scenario = running(comparing(job_of(20)), 20);
  for (LinkId link = 0; link < 20; ++link) {
    tell(scenario, link, link == 0 ? "usual" : "odd");
  }
  (void)scenario.wait(milliseconds(1));

  ASSERT_EQ(scenario.announced.size(), 17U);
  EXPECT_EQ(scenario.announced.back(), "3 more nodes differ: muster status --json names them");
}

}  // namespace
}  // namespace muster::gang
