// The leader remembers which nodes have failed by themselves.
#include "gang/protocol/leader_scenario.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::gang {
namespace {

constexpr const char* kEcc = "CUDA error: uncorrectable ECC error encountered";

Failure failure_with(int rank, std::vector<std::string> lines, ExitStatus status = ExitStatus::exited(1)) {
  Failure failure = failure_of(rank, status);
  failure.last_lines = std::move(lines);
  return failure;
}

/// The rank's node fails, and nothing is alive on any node.
void fail(LeaderScenario& scenario, int attempt, const Failure& failure) {
  const auto link = scenario.leader().nodes().at(static_cast<std::size_t>(failure.node.value));
  (void)scenario.receive(link, Failed{attempt, failure});
  for (const LinkId other : std::vector<LinkId>(scenario.leader().nodes())) {
    const auto own = other == link ? std::optional(failure) : std::nullopt;
    (void)scenario.receive(other, AttemptOver{attempt, own, std::nullopt});
  }
  (void)scenario.wait(seconds(60));
}

/// The agent on machine gpu-2, which has node rank 2.
void arrive_again(LeaderScenario& scenario, LinkId link) {
  Join join = scenario.join_of(2, 2);
  join.node.machine = "gpu-2";
  (void)scenario.arrive(link, join);
}

/// The agent goes without a word, nothing is alive on the other nodes, and the fence is over.
void lose(LeaderScenario& scenario, int attempt, LinkId link) {
  (void)scenario.lose(link);
  (void)scenario.end_all(attempt);
  (void)scenario.wait(seconds(60));
}

LeaderScenario with_machine(const GangConfig& config) {
  LeaderScenario scenario(config);
  (void)scenario.arrive(1, 1);
  arrive_again(scenario, 2);
  (void)scenario.wait(config.options.last_call);
  return scenario;
}

TEST(NodeFailures, MakeANodeSuspectAtTheSecondOne) {
  LeaderScenario scenario = running(restarting(job_of(3)), 3);
  fail(scenario, 0, failure_with(3, {kEcc}));
  EXPECT_TRUE(scenario.announced.empty());
  fail(scenario, 1, failure_with(2, {"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."}));

  ASSERT_EQ(scenario.announced.size(), 1U);
  EXPECT_EQ(scenario.announced.front(),
            "node 1 (host-b) is suspect: it has failed by itself in attempt 0 (" + std::string(kEcc) +
                ") and in attempt 1 (NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.)");
  (void)scenario.receive(2, StatusQuery{42});
  (void)scenario.receive(1, StatusReport{1, "{}"});
  EXPECT_EQ(scenario.last_report.suspect.find("it has failed by itself in attempt 0 ("), 0U);
  (void)scenario.receive(2, StatusReport{1, "{}"});
  EXPECT_EQ(scenario.last_report.suspect, "");

  fail(scenario, 2, failure_with(3, {kEcc}));
  EXPECT_EQ(scenario.announced.size(), 1U) << "it is said once";
  fail(scenario, 3, failure_with(3, {"ValueError"}));
  ASSERT_TRUE(scenario.end.has_value());
  ASSERT_EQ(scenario.end->gang.suspects.size(), 1U);
  EXPECT_EQ(scenario.end->gang.suspects.front().host, "host-b");
  EXPECT_EQ(scenario.end->gang.suspects.front().failures, 3);
  EXPECT_EQ(scenario.end->gang.suspects.front().reasons.size(), 3U);
}

TEST(NodeFailures, AreSaidWithTheLastAttempt) {
  LeaderScenario scenario = running(restarting(job_of(2), 1), 2);
  fail(scenario, 0, failure_with(3, {kEcc}));
  fail(scenario, 1, failure_with(3, {kEcc}));
  ASSERT_TRUE(scenario.end.has_value());
  EXPECT_EQ(scenario.announced.size(), 1U);
  EXPECT_EQ(scenario.end->gang.suspects.size(), 1U);
}

TEST(NodeFailures, CountALostNodeByItsMachine) {
  LeaderScenario scenario = with_machine(restarting(job_of(3)));
  lose(scenario, 0, 2);
  arrive_again(scenario, 12);
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  lose(scenario, 1, 12);
  ASSERT_EQ(scenario.announced.size(), 1U);
  EXPECT_NE(scenario.announced.front().find("in attempt 1 (lost: it closed the connection)"), std::string::npos);
}

TEST(NodeFailures, DoNotFollowThePodOfAName) {
  LeaderScenario scenario = running(restarting(job_of(3)), 3);
  lose(scenario, 0, 2);
  (void)scenario.arrive(12, scenario.join_of(2, 2));  // the same host name, and another address
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  lose(scenario, 1, 12);
  EXPECT_TRUE(scenario.announced.empty());
}

TEST(NodeFailures, FollowANodeToAnotherRank) {
  LeaderScenario scenario = running(restarting(job_of(2, 4)), 4);
  fail(scenario, 0, failure_with(5, {kEcc}));
  (void)scenario.receive(1, StopFromAgent{SIGTERM});
  (void)scenario.end_all(1);
  (void)scenario.wait(seconds(60));
  ASSERT_EQ(scenario.leader().nodes().size(), 3U);
  fail(scenario, 2, failure_with(3, {kEcc}));
  ASSERT_EQ(scenario.announced.size(), 1U);
  EXPECT_NE(scenario.announced.front().find("node 1 (host-c) is suspect"), std::string::npos)
      << scenario.announced.front();
}

TEST(NodeFailures, TakeTheRankThatTheWordsName) {
  LeaderScenario scenario = running(restarting(with_known_ranks(job_of(3))), 3);
  const std::string words =
      "SDCReplayMismatch: SDC replay mismatch: step=3, attempt=1, replay=1, rank=4, signature='loss'";
  fail(scenario, 0, failure_with(1, {words}));
  fail(scenario, 1, failure_with(2, {words}));
  ASSERT_EQ(scenario.announced.size(), 1U);
  EXPECT_NE(scenario.announced.front().find("node 2 (host-c) is suspect"), std::string::npos);
}

PreflightVerdict judge_by_text(const std::vector<ToldFacts>& told) {
  PreflightVerdict verdict;
  for (const ToldFacts& one : told) {
    if (one.text == "unfit") {
      verdict.unfit.push_back({one.node, one.host, 2, "devices 7 (8)"});
    }
  }
  return verdict;
}

TEST(NodeFailures, CountOnceBeforeAnAttempt) {
  GangConfig config = restarting(job_of(3));
  config.options.preflight.compares = ComparesNodes::Strictly;
  config.judge_facts = judge_by_text;
  LeaderScenario scenario(config);
  (void)scenario.arrive(1, 1);
  arrive_again(scenario, 2);
  for (const LinkId link : {0, 1, 2}) {
    (void)scenario.receive(link, StatusReport{0, link == 2 ? "unfit" : "usual"});
  }
  Join again = scenario.join_of(2, std::nullopt);
  again.node.machine = "gpu-2";
  (void)scenario.arrive(12, again);
  EXPECT_TRUE(scenario.announced.empty());
  (void)scenario.receive(12, StatusReport{0, "unfit"});
  (void)scenario.arrive(7);
  EXPECT_TRUE(scenario.announced.empty()) << "once for each attempt, also with several agents on the machine";
}

TEST(NodeFailures, AreNotThoseOfAProgram) {
  const std::vector<std::vector<std::string>> all_lines{
      {"Traceback (most recent call last):", "ValueError: x"},
      {"torch.OutOfMemoryError: CUDA out of memory."},
      {"Watchdog caught collective operation timeout"},
      {"RuntimeError: Connection closed by peer"},
      {"Address already in use"},
      {},
  };
  LeaderScenario scenario = running(restarting(job_of(3), 20), 3);
  int attempt = 0;
  for (const auto& lines : all_lines) {
    fail(scenario, attempt++, failure_with(3, lines));
    fail(scenario, attempt++, failure_with(3, lines, ExitStatus::signalled(SIGKILL)));
  }
  EXPECT_EQ(scenario.leader().nodes().size(), 3U);
  EXPECT_EQ(scenario.announced, std::vector<std::string>());
}

TEST(NodeFailures, AreNotHangs) {
  LeaderScenario scenario = running(restarting(job_of(3)), 3);
  for (int attempt = 0; attempt < 2; ++attempt) {
    Failure hung = failure_with(3, {kEcc}, ExitStatus::signalled(SIGABRT));
    hung.is_hung = true;
    fail(scenario, attempt, hung);
  }
  EXPECT_TRUE(scenario.announced.empty());
}

TEST(NodeFailures, AreNotLossesThatNodesShare) {
  LeaderScenario scenario = with_machine(restarting(job_of(1, 3)));
  (void)scenario.lose(2);
  lose(scenario, 0, 1);
  arrive_again(scenario, 12);
  fail(scenario, 1, failure_with(1, {"x"}));  // the node takes part from the next attempt on
  EXPECT_EQ(scenario.leader().nodes().size(), 2U);
  lose(scenario, 2, 12);
  EXPECT_TRUE(scenario.announced.empty());
  EXPECT_EQ(scenario.state(), Leader::State::Running);
}

TEST(NodeFailures, AreNotNodesThatAreAskedToLeave) {
  LeaderScenario scenario = with_machine(restarting(job_of(2, 3), 5));
  for (const LinkId link : {2, 12}) {
    (void)scenario.receive(link, StopFromAgent{SIGTERM});
    lose(scenario, link == 2 ? 0 : 2, link);  // killed before its workers have ended
    EXPECT_EQ(scenario.leader().nodes().size(), 2U);
    arrive_again(scenario, link + 10);
    fail(scenario, link == 2 ? 1 : 3, failure_with(1, {"x"}));
    EXPECT_EQ(scenario.leader().nodes().size(), 3U);
  }
  EXPECT_TRUE(scenario.announced.empty());
}

TEST(NodeFailures, AreNotNodesWithoutMemory) {
  LeaderScenario scenario = with_machine(restarting(job_of(2, 3), 5));
  for (const LinkId link : {2, 12}) {
    (void)scenario.receive(link, Heartbeat{{.used_mib = 1, .limit_mib = 1'000, .oom_kills = 0}});
    (void)scenario.receive(link, Heartbeat{{.used_mib = 999, .limit_mib = 1'000, .oom_kills = 1}});
    lose(scenario, link == 2 ? 0 : 2, link);
    arrive_again(scenario, link + 10);
    fail(scenario, link == 2 ? 1 : 3, failure_with(1, {"x"}));
    EXPECT_EQ(scenario.leader().nodes().size(), 3U);
  }
  EXPECT_TRUE(scenario.announced.empty());
}

TEST(NodeFailures, AreNotWhatPeopleDo) {
  LeaderScenario scenario = running(restarting(job_of(3)), 3);
  fail(scenario, 0, failure_with(3, {kEcc}));
  (void)scenario.receive(1, SuspendRequested{"a notice", std::nullopt, false});
  (void)scenario.receive(1, Failed{1, failure_with(3, {kEcc})});
  (void)scenario.receive(1, AttemptOver{1, failure_with(3, {kEcc}), std::nullopt});
  (void)scenario.wait(seconds(120));
  (void)scenario.end_all(1);
  EXPECT_TRUE(scenario.announced.empty());

  LeaderScenario other = running(restarting(job_of(3)), 3);
  fail(other, 0, failure_with(3, {kEcc}));
  (void)other.receive(kOwnLink, StopFromAgent{SIGTERM});
  (void)other.receive(1, AttemptOver{1, failure_with(3, {kEcc}), std::nullopt});
  (void)other.end_all(1);
  EXPECT_TRUE(other.announced.empty());
}

GangConfig listing(GangConfig config) {
  config.options.bad_nodes = "/bad";
  config.bad_nodes = {{"gpu-2.cluster", "2026-12-06T07:50:41Z", "lost"}};
  return config;
}

GangConfig barring(GangConfig config, int most) {
  config.options.node_failures = most;
  return restarting(std::move(config), 9);
}

TEST(NodeFailures, GiveTheSeatToASpare) {
  LeaderScenario scenario = running(barring(job_of(3), 2), 3);
  (void)scenario.arrive(7);
  fail(scenario, 0, failure_with(3, {kEcc}));
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 2}));
  fail(scenario, 1, failure_with(3, {kEcc}));
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 7, 2}));
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  ASSERT_EQ(scenario.announced.size(), 2U);
  EXPECT_EQ(scenario.announced.back().find("node 1 (host-b) is left out, and a spare has its seat: it has failed"), 0U);
  EXPECT_EQ(scenario.end->kind, EndKind::Unfit) << "its own end";

  fail(scenario, 2, failure_with(1, {"x"}));
  (void)scenario.arrive(11, scenario.join_of(1, std::nullopt));
  (void)scenario.arrive(12, scenario.join_of(12, std::nullopt));
  (void)scenario.lose(2);
  (void)scenario.end_all(3);
  (void)scenario.wait(seconds(60));
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 7, 11}))
      << "another address without a machine: it is another node";
}

TEST(NodeFailures, TakeANodeAgainThatComesAgainOnlyLast) {
  LeaderScenario scenario = with_machine(barring(job_of(3), 1));
  (void)scenario.arrive(7);
  lose(scenario, 0, 2);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 7}));
  Join join = scenario.join_of(2, std::nullopt);
  join.node.machine = "gpu-2";
  (void)scenario.arrive(12, join);
  (void)scenario.arrive(13);
  (void)scenario.lose(1);
  (void)scenario.end_all(1);
  (void)scenario.wait(seconds(60));
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 13, 7}));
  (void)scenario.lose(13);
  (void)scenario.end_all(2);
  (void)scenario.wait(seconds(60));
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 12, 7})) << "nobody else is there";
  EXPECT_TRUE(scenario.has_said("node 1 (host-c) takes part again: no spare can have its seat")) << scenario.all_said();
}

TEST(NodeFailures, DoNotCallANodeLeftOutThatTakesPartAgain) {
  LeaderScenario scenario = with_machine(barring(job_of(3), 2));
  (void)scenario.arrive(7);
  fail(scenario, 0, failure_with(5, {kEcc}));
  fail(scenario, 1, failure_with(5, {kEcc}));
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 7}));
  ASSERT_EQ(scenario.end->gang.suspects.size(), 1U);
  EXPECT_TRUE(scenario.end->gang.suspects.front().is_left_out);
  Join again = scenario.join_of(2, std::nullopt);
  again.node.machine = "gpu-2";
  (void)scenario.arrive(12, again);
  lose(scenario, 2, 7);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 12}));

  (void)scenario.receive(kOwnLink, StopFromAgent{SIGTERM});
  (void)scenario.end_all(3);
  ASSERT_EQ(scenario.end->gang.suspects.size(), 1U);
  EXPECT_FALSE(scenario.end->gang.suspects.front().is_left_out);
}

TEST(NodeFailures, LeaveTheLeaderInItsPlace) {
  LeaderScenario scenario = running(barring(job_of(3), 1), 3);
  (void)scenario.arrive(7);
  fail(scenario, 0, failure_with(1, {kEcc}));
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 2}));
  EXPECT_TRUE(scenario.has_said("node 0 (host-a) takes part again: it leads the job"));
}

/// The agent has no rank, and this role.
void arrive_as(LeaderScenario& scenario, LinkId link, const std::string& role) {
  Join join = scenario.join_of(link, std::nullopt);
  join.node.role_name = role;
  (void)scenario.arrive(link, join);
}

/// Node 0 leads, node 1 is a ps, node 2 a worker.
LeaderScenario with_roles(const GangConfig& config) {
  LeaderScenario scenario(config);
  arrive_as(scenario, 1, "ps");
  arrive_as(scenario, 2, "worker");
  (void)scenario.wait(config.options.last_call);
  return scenario;
}

TEST(NodeFailures, GiveTheSeatToASpareOfTheSameRole) {
  LeaderScenario scenario = with_roles(barring(job_of(3), 2));
  arrive_as(scenario, 7, "worker");
  fail(scenario, 0, failure_with(3, {kEcc}));
  fail(scenario, 1, failure_with(3, {kEcc}));
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 1, 2})) << "no spare has its role";
  EXPECT_TRUE(scenario.has_said("node 1 (host-b) takes part again: no spare can have its seat")) << scenario.all_said();
  arrive_as(scenario, 8, "ps");
  fail(scenario, 2, failure_with(3, {kEcc}));
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 8, 2}));
}

TEST(Roles, OfALostNodeAreThatOfTheNextOneInItsSeat) {
  LeaderScenario scenario = with_roles(restarting(job_of(3)));
  arrive_as(scenario, 7, "worker");
  lose(scenario, 0, 1);
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  EXPECT_TRUE(
      scenario.has_said("node 1 (host-b) left: closed the connection, and only a node with the role 'ps' can "
                        "have its seat"))
      << scenario.all_said();
  arrive_as(scenario, 8, "ps");
  EXPECT_EQ(scenario.state(), Leader::State::Running);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 8, 2}));
}

TEST(Roles, ASeatThatAnAttemptDoesWithoutIsOpenToAll) {
  GangConfig config = restarting(job_of(2, 3));
  config.options.scale_up = ScaleUp::Now;
  LeaderScenario scenario = with_roles(config);
  lose(scenario, 0, 1);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 2}));
  arrive_as(scenario, 7, "worker");
  (void)scenario.end_all(1);
  EXPECT_EQ(scenario.leader().nodes(), (std::vector<LinkId>{0, 7, 2}));
}

TEST(Roles, AreOpenWhileTheJobGathers) {
  LeaderScenario scenario(job_of(3));
  arrive_as(scenario, 1, "ps");
  (void)scenario.lose(1);
  arrive_as(scenario, 2, "worker");
  arrive_as(scenario, 3, "worker");
  EXPECT_EQ(scenario.state(), Leader::State::Running);
}

TEST(Roles, OfANodeThatIsAskedToLeaveAreWanted) {
  LeaderScenario scenario = with_roles(restarting(job_of(3)));
  arrive_as(scenario, 7, "worker");
  (void)scenario.receive(1, StopFromAgent{SIGTERM});
  (void)scenario.end_all(0);
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->exit_code, 143) << "the job cannot go on without it";

  LeaderScenario other = with_roles(restarting(job_of(3)));
  arrive_as(other, 7, "ps");
  (void)other.receive(1, StopFromAgent{SIGTERM});
  (void)other.end_all(0);
  (void)other.wait(seconds(60));
  EXPECT_EQ(other.leader().nodes(), (std::vector<LinkId>{0, 7, 2}));
}

/// A job whose node of role "ps" is listed as bad, with a spare of this role.
LeaderScenario with_unfit_ps(const std::string& role_of_spare) {
  GangConfig config = restarting(listing(job_of(3)));
  config.options.preflight.compares = ComparesNodes::Strictly;
  LeaderScenario scenario(config);
  Join listed = scenario.join_of(1, std::nullopt);
  listed.node.machine = "gpu-2";
  listed.node.role_name = "ps";
  (void)scenario.arrive(1, listed);
  arrive_as(scenario, 2, "worker");
  arrive_as(scenario, 7, role_of_spare);
  return scenario;
}

TEST(Roles, OfAnUnfitNodeAreTakenByASpareOfTheSame) {
  LeaderScenario scenario = with_unfit_ps("ps");
  EXPECT_EQ(scenario.state(), Leader::State::Running);
}

TEST(Roles, OfAnUnfitNodeAreWanted) {
  LeaderScenario scenario = with_unfit_ps("worker");
  EXPECT_EQ(scenario.state(), Leader::State::Rendezvous);
  (void)scenario.wait(job_of(3).options.last_call);
  EXPECT_EQ(scenario.state(), Leader::State::Finishing);
  ASSERT_TRUE(scenario.end);
  EXPECT_EQ(scenario.end->kind, EndKind::Unfit);
}

TEST(NodeFailures, DoNotMakeTheJobSmaller) {
  LeaderScenario scenario = running(barring(job_of(2, 3), 1), 3);
  fail(scenario, 0, failure_with(3, {kEcc}));
  EXPECT_EQ(scenario.leader().nodes().size(), 3U);
}

TEST(NodeFailures, OfABarredNewcomerStartNothing) {
  GangConfig config = barring(job_of(2, 3), 1);
  config.options.scale_up = ScaleUp::Now;
  LeaderScenario scenario = with_machine(config);
  lose(scenario, 0, 2);
  EXPECT_EQ(scenario.leader().nodes().size(), 2U);
  arrive_again(scenario, 12);
  (void)scenario.wait(seconds(60));
  EXPECT_EQ(scenario.leader().nodes().size(), 2U) << "it would only fail again";
  EXPECT_EQ(scenario.state(), Leader::State::Running);
}

// --- For later jobs -------------------------------------------------------------------------------

TEST(BadNodes, AreKept) {
  LeaderScenario scenario = with_machine(restarting(listing(job_of(3))));
  EXPECT_EQ(scenario.announced,
            std::vector<std::string>{"node 2 (host-c) is listed in '/bad' until 2026-12-06T07:50:41Z: lost"});
  lose(scenario, 0, 2);
  arrive_again(scenario, 12);
  (void)scenario.lose(12);
  (void)scenario.receive(kOwnLink, AttemptOver{1, std::nullopt, std::nullopt});
  const std::string done = scenario.receive(1, AttemptOver{1, std::nullopt, std::nullopt});
  EXPECT_NE(done.find("keep gpu-2: in attempt 0 (lost: it closed the connection) and in attempt 1 (lost"),
            std::string::npos)
      << done;
}

TEST(BadNodes, AreNotKeptWithoutAMachine) {
  LeaderScenario scenario = running(restarting(listing(job_of(3))), 3);
  fail(scenario, 0, failure_with(3, {kEcc}));
  fail(scenario, 1, failure_with(3, {kEcc}));
  EXPECT_TRUE(scenario.has_said("node 1 (host-b) is not written to '/bad': the name of its machine is not known"));
}

TEST(BadNodes, AreAllKeptThatEndAJob) {
  for (const bool are_both_bad : {false, true}) {
    GangConfig config = restarting(job_of(3));
    config.options.preflight_command = "check";
    config.options.bad_nodes = "/bad";
    LeaderScenario scenario(config);
    for (const int node : {1, 2}) {
      Join join = scenario.join_of(static_cast<LinkId>(node), node);
      join.node.machine = "gpu-" + std::to_string(node);
      (void)scenario.arrive(static_cast<LinkId>(node), join);
    }
    for (int attempt = 0; attempt < 2; ++attempt) {
      for (const LinkId link : {0, 1, 2}) {
        (void)scenario.receive(link, StatusReport{kCommandNumber, kCommandPassed});
      }
      ASSERT_EQ(scenario.state(), Leader::State::Running);
      fail(scenario, attempt, failure_with(attempt == 0 ? 2 : 4, {kEcc}));
    }
    for (const LinkId link : {0, 1, 2}) {
      const bool is_bad = link == 1 || (link == 2 && are_both_bad);
      (void)scenario.receive(
          link, StatusReport{kCommandNumber, is_bad ? "the preflight command ended with exit code 3" : kCommandPassed});
    }
    (void)scenario.wait(config.options.last_call);

    ASSERT_TRUE(scenario.end);
    EXPECT_EQ(scenario.end->kind, EndKind::Unfit);
    const std::vector<std::string> all{"gpu-1", "gpu-2"};
    EXPECT_EQ(scenario.kept, std::vector(all.begin(), all.end() - (are_both_bad ? 0 : 1)));
  }
}

TEST(BadNodes, TakeNoPartInAStrictJob) {
  GangConfig config = restarting(listing(job_of(3)));
  config.options.preflight.compares = ComparesNodes::Strictly;
  LeaderScenario scenario = with_machine(config);
  ASSERT_TRUE(scenario.end.has_value()) << "no spare has come";
  EXPECT_EQ(scenario.end->kind, EndKind::Unfit);
  EXPECT_EQ(scenario.end->reason.find("node 2 (host-c) is listed in '/bad'"), 0U);

  LeaderScenario other(config);
  (void)other.arrive(1, 1);
  arrive_again(other, 2);
  (void)other.arrive(7);
  EXPECT_EQ(other.state(), Leader::State::Running);
  EXPECT_EQ(other.leader().nodes(), (std::vector<LinkId>{0, 1, 7}));
  EXPECT_TRUE(other.has_said("left: it failed in an earlier job"));
}

}  // namespace
}  // namespace muster::gang
