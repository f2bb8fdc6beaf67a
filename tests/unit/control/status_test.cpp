// The table of a job, and what nodes say of themselves.
#include "control/status.hpp"

#include "base/text.hpp"
#include "control/control.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace muster::control {
namespace {

WorkerStatus some_worker(int rank) {
  WorkerStatus worker;
  worker.role = "worker";
  worker.global_rank = rank;
  worker.local_rank = rank % 2;
  worker.state = "running";
  worker.pid = 100 + rank;
  worker.since = 1'000;
  worker.cpu_seconds = 65.0 * rank;
  worker.memory_bytes = std::uint64_t{3} << 30U;
  worker.output_age = 2.5;
  return worker;
}

std::string line_of_node(int node) {
  NodeStatus status;
  status.node = node;
  status.host = "host-" + std::to_string(node);
  status.pid = 50 + node;
  status.state = "running";
  status.workers = {some_worker(2 * node), some_worker(2 * node + 1)};
  return to_line(status, 100'000);
}

TEST(StatusTable, ShowsAllNodesByRankWithTotals) {
  const json::object answer{{"job", {{"id", "train"}, {"since", 1'000.0}}},
                            {"nodes", join_nodes({line_of_node(1), "rubbish", line_of_node(0)})},
                            {"missing", 1}};
  EXPECT_EQ(status_table(answer, 1'075),
            "job train, since 1m15s, 2 of 3 nodes, 4 of 4 workers running, CPU 6m30s, memory 12 GiB\n"
            "1 node did not answer in time\n"
            "\n"
            "NODE  HOST    RANK  ROLE    STATE    PID  ATTEMPT  SINCE  CPU    MEMORY   OUTPUT  STEP\n"
            "0     host-0  0     worker  running  100  0        1m15s  0s     3.0 GiB  2s      -\n"
            "0     host-0  1     worker  running  101  0        1m15s  1m05s  3.0 GiB  2s      -\n"
            "1     host-1  2     worker  running  102  0        1m15s  2m10s  3.0 GiB  2s      -\n"
            "1     host-1  3     worker  running  103  0        1m15s  3m15s  3.0 GiB  2s      -\n");
}

TEST(StatusTable, NamesTheNodesThatDidNotAnswer) {
  const auto head_of = [](const json::object& answer) {
    const std::string table = status_table(answer, 1'075);
    return table.substr(0, table.find("\n\n"));
  };
  json::object answer{{"nodes", join_nodes({line_of_node(0)})}, {"missing", 1}, {"missing_nodes", "node 1 (host-1)"}};
  EXPECT_EQ(head_of(answer),
            "job -, 1 of 2 nodes, 2 of 2 workers running, CPU 1m05s, memory 6.0 GiB\n"
            "node 1 (host-1) did not answer in time");
  answer["missing"] = 0;
  EXPECT_EQ(head_of(answer), "job -, 1 node, 2 of 2 workers running, CPU 1m05s, memory 6.0 GiB");
}

TEST(SilentNodesLine, NamesThemOrCountsThem) {
  EXPECT_EQ(silent_nodes_line({{"missing", 0}}), "");
  EXPECT_EQ(silent_nodes_line({}), "");
  EXPECT_EQ(silent_nodes_line({{"missing", 2}}), "2 nodes did not answer in time\n");
  EXPECT_EQ(silent_nodes_line({{"missing", 1}, {"missing_nodes", "node 1 (b)"}}),
            "node 1 (b) did not answer in time\n");
}

TEST(StatusTable, TakesNothingForGranted) {
  for (const char* const answer :
       {"{}", R"({"nodes":1,"job":[],"missing":"x"})", R"({"nodes":[1,{"workers":[2,{"pid":"\u001b[31m"}]}]})",
        R"({"nodes":[{"workers":[]}],"job":{"notice":1}})"}) {
    const std::string table = status_table(json::parse(answer).as_object(), 0);
    EXPECT_EQ(table.find('\x1b'), std::string::npos) << answer;
  }
}

TEST(StatusLine, LeavesOutWorkersThatDoNotFit) {
  NodeStatus status;
  for (int rank = 0; rank < 1'000; ++rank) {
    status.workers.push_back(some_worker(rank));
  }
  const std::string line = to_line(status, 10'000);
  EXPECT_LE(line.size(), 10'000U);
  const json::object object = json::parse(line).as_object();
  EXPECT_EQ(object.at("workers").as_array().size() + static_cast<std::size_t>(object.at("workers_left_out").as_int64()),
            1'000U);
}

std::string heartbeat_bytes(double at, std::int64_t step, std::uint32_t sequence, std::string_view text) {
  std::string bytes(kHeartbeatBytes, '\0');
  const auto length = static_cast<std::uint32_t>(text.size());
  std::memcpy(bytes.data(), "MUSTERH1", 8);
  std::memcpy(bytes.data() + 8, &at, sizeof(at));
  std::memcpy(bytes.data() + 24, &step, sizeof(step));
  std::memcpy(bytes.data() + 32, &sequence, sizeof(sequence));
  std::memcpy(bytes.data() + 36, &length, sizeof(length));
  std::memcpy(bytes.data() + 40, text.data(), text.size());
  return bytes;
}

TEST(StatusLine, SaysHowANodeDiffers) {
  EXPECT_EQ(add_text(R"({"node":0})", "differs", "torch 2"), R"({"node":0,"differs":"torch 2"})");
  EXPECT_EQ(add_text(R"({"node":0})", "differs", ""), R"({"node":0})");
  EXPECT_EQ(add_text("rubbish", "differs", "torch 2"), "rubbish");
}

TEST(Heartbeats, AreReadFromTheFileOfAWorker) {
  const auto heartbeat = parse_heartbeat(heartbeat_bytes(12.5, 84'925, 2, R"({"loss":0.5})"));
  ASSERT_TRUE(heartbeat);
  EXPECT_EQ(heartbeat->at, 12.5);
  EXPECT_EQ(heartbeat->step, 84'925);
  EXPECT_EQ(heartbeat->numbers.at("loss").as_double(), 0.5);
}

TEST(Heartbeats, AreCheckedLikeUntrustedBytes) {
  EXPECT_FALSE(parse_heartbeat(""));
  EXPECT_FALSE(parse_heartbeat(std::string(4'096, 'x')));
  EXPECT_FALSE(parse_heartbeat(std::string(kHeartbeatBytes, '\0')));
  EXPECT_TRUE(parse_heartbeat(heartbeat_bytes(1, -1, 3, "{}"))->numbers.empty()) << "half written";
  EXPECT_TRUE(parse_heartbeat(heartbeat_bytes(1, -1, 2, "rubbish"))->numbers.empty());
  EXPECT_FALSE(parse_heartbeat(heartbeat_bytes(1, -1, 2, ""))->step);
  EXPECT_TRUE(parse_heartbeat(heartbeat_bytes(1, -1, 2, R"({"loss":1e999})"))->numbers.empty())
      << "would hide its node";
  std::string too_long = heartbeat_bytes(1, 1, 2, "");
  std::memset(too_long.data() + 36, 0xFF, 4);
  EXPECT_TRUE(parse_heartbeat(too_long)->numbers.empty());
}

TEST(StatusLine, IsLeftOutAloneWhereItsNumbersCannotBePassedOn) {
  const json::array nodes = join_nodes({R"({"node":0})", R"({"node":1,"workers":[{"step":1e999}]})", R"({"node":2})"});
  EXPECT_EQ(nodes, (json::array{{{"node", 0}}, {{"node", 2}}}));
  EXPECT_TRUE(parse_answer(write_answer({{"nodes", nodes}})));
}

// --- Which job is meant -------------------------------------------------------------------------

FoundAgent agent(pid_t pid, const std::string& id, const std::string& rendezvous = "") {
  FoundAgent agent;
  agent.socket = "/dev/shm/muster_x/control";
  agent.job_id = id;
  agent.rendezvous = rendezvous;
  agent.pid = pid;
  agent.version = "0.1.0";
  return agent;
}

TEST(ChoiceOfAJob, NeedsNoNameWhereOneJobRuns) {
  const Found found{{agent(1, "train", "a:29500"), agent(2, "train", "a:29500")}, {}, 0};
  EXPECT_EQ(choose_agent(found, std::nullopt)->pid, 1) << "two agents of one job";
}

TEST(ChoiceOfAJob, TakesTheNumberOfAStepsJob) {
  const Found found{{agent(1, "4711.0"), agent(2, "471.0"), agent(3, "train.0")}, {}, 0};
  EXPECT_EQ(choose_agent(found, "4711")->pid, 1);
  EXPECT_EQ(choose_agent(found, "471")->pid, 2);
  EXPECT_EQ(choose_agent(found, "471.0")->pid, 2);
  EXPECT_FALSE(choose_agent(found, "train"));
  EXPECT_FALSE(choose_agent(found, "47"));
}

std::vector<std::string> refusal_of(const Found& found, const std::string& wanted) {
  return split(choose_agent(found, wanted).error().message, '\n');
}

TEST(ChoiceOfAJob, ListsWhatThereIs) {
  const Found found{{agent(1, "train"), agent(2, "train"), agent(3, "")}, {}, 2};
  const std::string names = choose_agent(found, std::nullopt).error().message;
  EXPECT_EQ(names.substr(0, names.find('\n')), "3 jobs run here; choose one with --job PID:");
  EXPECT_EQ(std::ranges::count(names, '\n'), 4) << names;
  EXPECT_NE(names.find("\ntrain  1 "), std::string::npos) << names;
  EXPECT_NE(names.find("\n-      3 "), std::string::npos) << names;
  EXPECT_EQ(refusal_of(found, "train").front(), "2 jobs called 'train' run here; choose one with --job PID:");
  EXPECT_EQ(refusal_of(found, "train").size(), 4U);
  EXPECT_EQ(choose_agent(found, "2")->pid, 2);
  EXPECT_EQ(refusal_of(found, "other").front(), "no job 'other' runs here; these jobs do:");
  EXPECT_EQ(refusal_of(found, "other").size(), 5U);
  EXPECT_EQ(choose_agent(Found{}, std::nullopt).error().message, "no job of muster runs here");
  EXPECT_EQ(choose_agent(Found{}, "other").error().message, "no job of muster runs here");
  EXPECT_EQ(choose_agent(Found{{}, {}, 2}, std::nullopt).error().message,
            "no job of muster runs here (run folders of other users: 2)");
}

FoundAgent silent_agent(pid_t pid) {
  FoundAgent found = agent(pid, "");
  found.is_silent = true;
  found.state = "does not answer";
  found.peer.pid = pid + 1;
  return found;
}

TEST(ChoiceOfAJob, CountsAJobThatDoesNotAnswer) {
  const Found found{{agent(1, "train"), silent_agent(2)}, {}, 0};
  EXPECT_NE(choose_agent(found, std::nullopt).error().message.find("\n-      2    does not answer  -"),
            std::string::npos)
      << choose_agent(found, std::nullopt).error().message;
  EXPECT_EQ(choose_agent(found, "train")->pid, 1);
  EXPECT_EQ(choose_agent(found, "2")->pid, 2);
  EXPECT_EQ(choose_agent(Found{{silent_agent(2)}, {}, 0}, std::nullopt).error().message,
            "the job at '/dev/shm/muster_x/control' does not answer; 'kill -CONT 3' wakes an agent that was stopped, "
            "'kill 2' ends the job in any case");
}

TEST(ChoiceOfAJob, KnowsAJobByItsPortOnThisMachine) {
  const Found one{{agent(1, "", "localhost:29500"), agent(2, "", "127.0.0.1:29500")}, {}, 0};
  EXPECT_EQ(choose_agent(one, std::nullopt)->pid, 1);
  const Found two{{agent(1, "", "localhost:29500"), agent(2, "", "localhost:29501"), agent(3, "", "a:29500")}, {}, 0};
  EXPECT_EQ(all_jobs(two).size(), 3U);
}

TEST(ChoiceOfAJob, ShowsProgramAndFolder) {
  FoundAgent with_program = agent(2, "");
  with_program.program = "python3 train.py";
  with_program.folder = "/home/me/llm";
  EXPECT_TRUE(choose_agent(Found{{agent(1, "a"), with_program}, {}, 0}, std::nullopt)
                  .error()
                  .message.ends_with("  python3 train.py  /home/me/llm"));
}

TEST(ChoiceOfAJob, PrefersTheAskersOwnToAnotherUsersOfItsName) {
  constexpr uid_t kAsker = 0;
  constexpr uid_t kStranger = 65'534;
  FoundAgent strangers = agent(1, "train", "a:29500");
  strangers.peer.uid = kStranger;
  Found found{{strangers, agent(7, "train", "a:29500")}, {}, 0, kAsker};
  EXPECT_EQ(choose_agent(found, std::nullopt)->pid, 7);
  EXPECT_EQ(choose_agent(found, "train")->pid, 7);
  EXPECT_EQ(choose_agent(found, "1")->pid, 1) << "another user's real job";
  found.agents[0].job_id = "7";
  EXPECT_EQ(choose_agent(found, "7")->pid, 7);
  EXPECT_EQ(all_jobs(found).size(), 2U) << "both are listed";
  found.agents.pop_back();
  EXPECT_EQ(choose_agent(found, std::nullopt)->pid, 1);
}

// --- Whose socket it is -------------------------------------------------------------------------

constexpr uid_t kOwner = 1'000;

/// The agent 12 of the guard 11, both of the user, and a process 20 of root.
std::optional<SeenProcess> find_in_table(pid_t pid) {
  const std::map<pid_t, SeenProcess> table{
      {11, {kOwner, 1, 11}}, {12, {kOwner, 11, 12}}, {1, {0, 0, 1}}, {20, {0, 1, 20}}, {31, {kOwner, 30, 5}}};
  const auto found = table.find(pid);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

std::optional<pid_t> named_by(const Listener& listener, uid_t asker = 0) {
  return pid_of_muster(listener, asker, find_in_table);
}

TEST(OwnerOfASocket, IsTheMusterThatListens) {
  EXPECT_EQ(named_by({kOwner, kOwner, 12, 11}), 11) << "its guard";
  EXPECT_EQ(named_by({kOwner, kOwner, 12, 12}), 12);
  EXPECT_EQ(named_by({kOwner, kOwner, 31, 5}), 31) << "in a pid namespace below ours";
}

TEST(OwnerOfASocket, IsNoOtherProcess) {
  EXPECT_FALSE(named_by({kOwner, kOwner, 12, 20})) << "another user's";
  EXPECT_FALSE(named_by({kOwner, kOwner, 11, 12})) << "the same user's, but a child";
  EXPECT_FALSE(named_by({kOwner, kOwner, 11, 1})) << "the parent, but another user's";
  EXPECT_FALSE(named_by({kOwner, kOwner, 12, 99})) << "nobody";
  EXPECT_FALSE(named_by({kOwner, kOwner, 12, -7}));
  EXPECT_FALSE(named_by({kOwner, kOwner, 12, 0}));
  EXPECT_FALSE(named_by({0, kOwner, 12, 11})) << "in root's folder";
  EXPECT_FALSE(named_by({kOwner, 0, 20, 20})) << "root's process";
  EXPECT_FALSE(named_by({kOwner, kOwner, 20, 20})) << "a pid that is used anew";
}

TEST(OwnerOfASocket, IsWhatTheKernelSaysWhereThereIsNoTable) {
  EXPECT_EQ(named_by({kOwner, kOwner, 77, 76}), 77) << "root sees the listener alone";
  EXPECT_EQ(named_by({kOwner, kOwner, 77, 76}, kOwner), 76) << "a user calls their own job as it calls itself";
  EXPECT_EQ(named_by({kOwner, kOwner, 0, 76}), 76) << "in a pid namespace beside ours";
  EXPECT_FALSE(named_by({kOwner, kOwner, 0, -7}));
}

}  // namespace
}  // namespace muster::control
