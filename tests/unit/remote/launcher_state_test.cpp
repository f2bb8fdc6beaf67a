// Decisions of the remote launcher, and the command lines that it makes.
#include "remote/launcher_state.hpp"

#include "remote/remote_agents.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace muster {
namespace {

std::string describe(const LauncherActions& actions) {
  struct Describe {
    std::string operator()(const NotifyNodes& tell) const {
      return tell.frame.kind + (tell.frame.bytes.empty() ? "" : ":" + tell.frame.bytes);
    }
    std::string operator()(const EndShells& end) const { return "shells:" + std::to_string(end.nodes.size()); }
    std::string operator()(const StartLauncherGrace& grace) const { return grace.is_short ? "short" : "grace"; }
    std::string operator()(const TellLauncherGrace& /*tell*/) const { return "tell grace"; }
    std::string operator()(const WatchLateNodes& /*watch*/) const { return "watch"; }
    std::string operator()(const KillShells& /*kill*/) const { return "kill"; }
    std::string operator()(const FinishLauncher& /*finish*/) const { return "finish"; }
  };
  std::string text;
  for (const LauncherAction& action : actions) {
    text += (text.empty() ? "" : " ") + std::visit(Describe{}, action);
  }
  return text;
}

const ExitStatus kGood = ExitStatus::exited(0);

LauncherState front_of_two_that_came() {
  LauncherState launcher({"a", "b"});
  launcher.on_here(0);
  launcher.on_here(1);
  return launcher;
}

TEST(LauncherState, EndsWithTheCodeThatTheAgentsSay) {
  LauncherState launcher = front_of_two_that_came();
  launcher.on_bye(1, 7);
  EXPECT_EQ(describe(launcher.on_ended(1, ExitStatus::exited(7), "")), "grace watch");
  launcher.on_bye(0, 7);
  EXPECT_EQ(describe(launcher.on_ended(0, ExitStatus::exited(7), "")), "finish");
  EXPECT_EQ(launcher.exit_code(), 7);
  EXPECT_FALSE(launcher.end());
}

TEST(LauncherState, NamesTheNodesThatDoNotEndWithTheOthers) {
  LauncherState launcher({"a", "b", "c"});
  for (std::size_t node = 0; node < 3; ++node) {
    launcher.on_here(node);
  }
  launcher.on_bye(0, 69);
  EXPECT_EQ(describe(launcher.on_ended(0, ExitStatus::exited(69), "")), "grace watch");
  EXPECT_EQ(launcher.describe_late(), "node 1 (b), node 2 (c)");
  launcher.on_bye(2, 69);
  EXPECT_EQ(launcher.describe_late(), "node 1 (b)") << "the other one has said that it ends";
  EXPECT_EQ(describe(launcher.on_ended(2, ExitStatus::exited(69), "")), "");
  EXPECT_EQ(describe(launcher.on_ended(1, ExitStatus::exited(255), "Timeout, server b not responding.")), "finish");
  EXPECT_EQ(launcher.exit_code(), 69);
}

TEST(LauncherState, DoesNotWaitForAHostAfterTheGangTimedOut) {
  LauncherState launcher({"a", "b"});
  launcher.on_here(0);
  launcher.on_bye(0, 75);
  EXPECT_EQ(describe(launcher.on_ended(0, ExitStatus::exited(75), "")), "shells:1 grace");
  EXPECT_EQ(describe(launcher.on_ended(1, ExitStatus::signalled(SIGTERM), "")), "finish");
  EXPECT_EQ(launcher.exit_code(), 75);
}

TEST(LauncherState, NamesANodeThatDoesNotCome) {
  LauncherState launcher({"a", "b"});
  launcher.on_here(0);
  EXPECT_EQ(describe(launcher.on_ended(1, ExitStatus::exited(255), "Connection refused")), "end shells:0 grace");
  EXPECT_EQ(launcher.end()->reason, "node 1 (b) did not come: Connection refused");
  launcher.on_bye(0, 143);
  EXPECT_EQ(describe(launcher.on_ended(0, ExitStatus::exited(143), "")), "finish");
  EXPECT_EQ(launcher.exit_code(), 75);
}

TEST(LauncherState, EndsAJobWhereNoNodeComesInTime) {
  LauncherState launcher({"a", "b"});
  EXPECT_EQ(launcher.describe_missing(), "node 0 (a), node 1 (b)");
  EXPECT_EQ(describe(launcher.on_start_timeout()), "shells:2 grace");
  EXPECT_EQ(launcher.end()->reason, "no node came in time (--gang-timeout): node 0 (a), node 1 (b)");
  EXPECT_EQ(describe(launcher.on_ended(0, ExitStatus::signalled(SIGTERM), "")), "");
  EXPECT_EQ(describe(launcher.on_ended(1, ExitStatus::signalled(SIGTERM), "")), "finish");
  EXPECT_EQ(launcher.exit_code(), 75);
}

TEST(LauncherState, LeavesTheWaitForOtherNodesToAnAgentThatCame) {
  LauncherState launcher({"a", "b"});
  launcher.on_here(1);
  EXPECT_EQ(launcher.describe_missing(), "node 0 (a)");
  EXPECT_EQ(describe(launcher.on_start_timeout()), "");
  EXPECT_FALSE(launcher.end());
}

TEST(LauncherState, NamesEightOfManyNodesThatHaveNotCome) {
  LauncherState launcher(std::vector<std::string>(11, "a"));
  EXPECT_TRUE(launcher.describe_missing().ends_with(", node 7 (a), 3 more"));
}

TEST(LauncherState, TakesTheCodeOfAnAgentThatCouldNotBegin) {
  for (const int code : {64, 65, 71, 78, 126, 127}) {
    LauncherState launcher({"a"});
    EXPECT_EQ(describe(launcher.on_ended(0, ExitStatus::exited(code), "")), "end shells:0 grace finish");
    EXPECT_EQ(launcher.exit_code(), code);
  }
}

TEST(LauncherState, CallsANodeLostThatWasHere) {
  LauncherState launcher = front_of_two_that_came();
  EXPECT_EQ(describe(launcher.on_ended(1, ExitStatus::exited(255), "Broken pipe")), "end shells:0 grace");
  EXPECT_EQ(launcher.end()->reason, "node 1 (b) was lost: Broken pipe");
  EXPECT_EQ(launcher.exit_code(), 69);
}

TEST(LauncherState, CallsANodeLostWhoseAgentStoppedTheOthersFirst) {
  LauncherState launcher = front_of_two_that_came();
  launcher.on_bye(0, 143);
  (void)launcher.on_ended(0, ExitStatus::exited(143), "");
  EXPECT_EQ(describe(launcher.on_ended(1, ExitStatus::signalled(SIGKILL), "")), "finish");
  ASSERT_TRUE(launcher.end());
  EXPECT_TRUE(launcher.end()->reason.starts_with("node 1 (b) was lost: ")) << launcher.end()->reason;
  EXPECT_EQ(launcher.exit_code(), 69);

  LauncherState stopped = front_of_two_that_came();
  (void)stopped.on_stop(SIGTERM);
  stopped.on_bye(0, 143);
  (void)stopped.on_ended(0, ExitStatus::exited(143), "");
  (void)stopped.on_ended(1, ExitStatus::signalled(SIGKILL), "");
  EXPECT_EQ(stopped.exit_code(), 143) << "it was asked for";
}

TEST(LauncherState, PassesARequestToEndOnAndThenMeansNow) {
  LauncherState launcher({"a", "b", "c"});
  launcher.on_here(0);
  EXPECT_EQ(describe(launcher.on_stop(SIGINT)), "signal:SIGINT shells:2 grace");
  EXPECT_EQ(describe(launcher.on_stop(SIGTERM)), "tell grace");
  EXPECT_EQ(describe(launcher.on_stop(SIGINT)), "signal:SIGINT shells:2 short");
  EXPECT_EQ(describe(launcher.on_stop(SIGHUP)), "tell grace");
  EXPECT_EQ(describe(launcher.on_stop(SIGQUIT)), "kill");
  EXPECT_EQ(describe(launcher.on_ended(0, ExitStatus::signalled(SIGKILL), "")), "");
  EXPECT_EQ(describe(launcher.on_ended(1, ExitStatus::signalled(SIGTERM), "")), "");
  EXPECT_EQ(describe(launcher.on_ended(2, ExitStatus::signalled(SIGTERM), "")), "finish");
  EXPECT_EQ(launcher.exit_code(), 130);
}

TEST(LauncherState, LeavesTheEndToTheAgentsThatSayIt) {
  LauncherState launcher = front_of_two_that_came();
  (void)launcher.on_stop(SIGTERM);
  launcher.on_bye(0, 0);  // all had succeeded before the signal came
  launcher.on_bye(1, 0);
  (void)launcher.on_ended(0, kGood, "");
  EXPECT_EQ(describe(launcher.on_ended(1, kGood, "")), "finish");
  EXPECT_EQ(launcher.exit_code(), 0);
}

TEST(LauncherState, KillsAfterTheGrace) {
  LauncherState launcher = front_of_two_that_came();
  (void)launcher.on_ended(1, ExitStatus::exited(255), "");
  EXPECT_EQ(describe(launcher.on_grace_ended()), "kill");
}

// --- Command lines ------------------------------------------------------------------------------

TEST(RemoteShells, RunSshWithoutPromptsAndLetTheUsersOptionsWin) {
  const auto shell = read_remote_shell({"ssh -p 2222 -oBatchMode=no", from_flag("--remote-shell")});
  const auto line = command_line_of(shell.value(), "user@b", "exec x");
  EXPECT_EQ(line[3], "-oBatchMode=no");
  EXPECT_NE(std::find(line.begin() + 4, line.end(), "-oBatchMode=yes"), line.end());
  EXPECT_EQ(line[line.size() - 2], "user@b");
  EXPECT_EQ(line.back(), "exec x");
}

TEST(RemoteShells, TakeTheHostWhereItsPlaceIs) {
  const auto shell = read_remote_shell({"kubectl exec -i {host} -- sh -c", {}});
  EXPECT_EQ(command_line_of(shell.value(), "pod-1", "exec x"),
            (std::vector<std::string>{"kubectl", "exec", "-i", "pod-1", "--", "sh", "-c", "exec x"}));
}

TEST(RemoteShells, NeedAWord) {
  EXPECT_FALSE(read_remote_shell({"", {}}));
  EXPECT_FALSE(read_remote_shell({"ssh 'open", {}}));
}

TEST(AgentCommand, HasNothingThatAShellCouldMisread) {
  EXPECT_EQ(agent_command("/opt/muster"),
            "exec sh -c 'if test -x \"/opt/muster\"; then exec \"/opt/muster\" --agent-of-front; fi; "
            "exec muster --agent-of-front'");
  for (const char* const path : {"", "/it's", "/a\"b", "/$x", "/a\\b", "/with blank", "/a!b"}) {
    EXPECT_EQ(agent_command(path), "exec sh -c 'exec muster --agent-of-front'") << path;
  }
}

// --- Variables and nodes ------------------------------------------------------------------------

TEST(Forwarding, TakesTheUsualOnesAndThoseThatAreNamed) {
  const std::map<std::string, std::string> variables = {
      {"NCCL_DEBUG", "INFO"},        {"MY_KEY", "k"},      {"MY_APP_X", "x"}, {"HOME", "/root"}, {"TF_CONFIG", "{}"},
      {"CUDA_VISIBLE_DEVICES", "0"}, {"MUSTER_GRACE", "3"}};
  const auto chosen = [&](const std::optional<Sourced<std::string>>& given) {
    std::string names;
    for (const auto& [name, value] : choose_variables(variables, read_forwarding(given).value())) {
      names += name + " ";
    }
    return names;
  };
  EXPECT_EQ(chosen({}), "NCCL_DEBUG ");
  EXPECT_EQ(chosen({{"MY_KEY,MY_APP_*", {}}}), "MY_APP_X MY_KEY NCCL_DEBUG ");
  EXPECT_EQ(chosen({{"none,MY_KEY", {}}}), "MY_KEY ");
  EXPECT_EQ(chosen({{"none,TF_*", {}}}), "");
  EXPECT_EQ(chosen({{"none,TF_CONFIG", {}}}), "TF_CONFIG ");
  EXPECT_EQ(chosen({{"none", {}}}), "");
  for (const char* const bad : {"", "A,,B", "A B", "*", "A*B*", "A=1"}) {
    EXPECT_FALSE(read_forwarding({{bad, {}}})) << bad;
  }
}

TEST(FanOut, SendsEachNodeItsRank) {
  FanOut fan_out;
  fan_out.hosts = {{{"u@a", "a", 8}, {"b", "b", {}}}, from_flag("--hosts")};
  fan_out.shell = plain_ssh();
  fan_out.order.line.settings.set("nproc-per-node", {"2", from_flag("--nproc-per-node")});
  const auto setting = [&](std::size_t node, const char* name) {
    return order_of(fan_out, node).line.settings.find(name)->value;
  };
  EXPECT_EQ(setting(1, "node-rank"), "1");
  EXPECT_EQ(setting(1, "nnodes"), "2");
  EXPECT_EQ(setting(1, "master-addr"), "a");
  EXPECT_EQ(setting(0, "nproc-per-node"), "2");
  EXPECT_EQ(setting(0, kHostsOfNodes), "a,b") << "names of nodes that do not come";
  const LaunchPlan plan = make_launcher_plan(fan_out);
  ASSERT_EQ(plan.workers.size(), 2U);
  EXPECT_EQ(plan.workers[0].argv.front(), "ssh");
  EXPECT_EQ(plan.workers[0].label, "a");
}

TEST(FanOut, NamesWhatGaveTheLeadersAddress) {
  FanOut fan_out;
  fan_out.hosts = {{{"a", "a", 8}, {"b", "b", {}}}, from_flag("--hosts")};
  fan_out.shell = plain_ssh();
  const auto source = [&] {
    const auto decisions = make_launcher_plan(fan_out).cluster.decisions;
    return std::ranges::find(decisions, "rendezvous.address", &Decision::field)->source;
  };
  EXPECT_EQ(source(), "--hosts");
  fan_out.order.line.settings.set("master-addr", {"a-ib0", from_flag("--master-addr")});
  EXPECT_EQ(source(), "--master-addr");
}

}  // namespace
}  // namespace muster
