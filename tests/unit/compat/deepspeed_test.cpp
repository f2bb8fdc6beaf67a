// The command line of DeepSpeed's launcher.
#include "lines.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(DeepSpeed, TakesAllAcceleratorsOfThisNode) {
  EXPECT_EQ(settings_of("deepspeed train.py --deepspeed ds.json"),
            "mode=deepspeed (deepspeed); nproc-per-node=auto (default of deepspeed)");
  EXPECT_EQ(settings_of("deepspeed --num_nodes -1 --num_gpus=-1 --node_rank -1 train.py"),
            settings_of("deepspeed train.py"));
  EXPECT_EQ(setting_of("deepspeed --num_gpus 2 train.py", "nproc-per-node"), "2 (--num_gpus)");
  EXPECT_EQ(setting_of("deepspeed --num_accelerators 2 train.py", "nproc-per-node"), "2 (--num_accelerators)");
}

TEST(DeepSpeed, TakesTheNodesFromFlags) {
  EXPECT_EQ(settings_of("deepspeed --num_nodes=2 --no_ssh --node_rank=1 --master_addr=a "
                        "--master_port 6000 --num_gpus 8 train.py"),
            "master-addr=a (--master_addr); master-port=6000 (--master_port); mode=deepspeed "
            "(deepspeed); nnodes=2 (--num_nodes); node-rank=1 (--node_rank); nproc-per-node=8 "
            "(--num_gpus); worker-port=6000 (--master_port)");
  EXPECT_EQ(setting_of("deepspeed -H hosts --num_nodes 2 --master_port 6000 train.py", "worker-port"),
            "6000 (--master_port)");
}

TEST(DeepSpeed, ReportsUnneededOptions) {
  EXPECT_EQ(notices_of("deepspeed --launcher slurm train.py"),
            "ignoring --launcher: muster itself reaches other hosts, through ssh or --remote-shell");
}

TEST(DeepSpeed, StartsTheHostsOfItsHostfile) {
  const std::string line = "deepspeed -H hosts --ssh_port 2222 --include a@b:0,1 train.py";
  EXPECT_EQ(setting_of(line, "hostfile"), "hosts (--hostfile)");
  EXPECT_EQ(setting_of(line, "remote-shell"), "ssh -p 2222 (--ssh_port)");
  EXPECT_EQ(setting_of(line, "include-hosts"), "a@b:0,1 (--include)");
  EXPECT_EQ(setting_of("deepspeed -H hosts --exclude=b train.py", "exclude-hosts"), "b (--exclude)");
}

TEST(DeepSpeed, TakesTheArgumentsOfPdshForSsh) {
  const Variables pdsh = {{"PDSH_SSH_ARGS_APPEND", "-o BatchMode=yes"}};
  const auto shell = [&](const std::string& line) { return setting_of(line + " train.py", "remote-shell", pdsh); };
  EXPECT_EQ(shell("deepspeed -H hosts"), "ssh -o BatchMode=yes (PDSH_SSH_ARGS_APPEND)");
  EXPECT_EQ(shell("deepspeed -H hosts --ssh_port 2222"), "ssh -p 2222 -o BatchMode=yes (PDSH_SSH_ARGS_APPEND)");
  EXPECT_EQ(shell("deepspeed -H hosts --launcher pdsh"), "ssh -o BatchMode=yes (PDSH_SSH_ARGS_APPEND)");
  EXPECT_EQ(shell("muster --remote-shell rsh deepspeed -H hosts"), "rsh (--remote-shell)");
  EXPECT_EQ(shell("deepspeed -H hosts --launcher openmpi"), "");
  EXPECT_EQ(shell("deepspeed -H hosts --no_ssh --num_nodes 2 --node_rank 0 --master_addr a"), "");
  EXPECT_EQ(shell("deepspeed"), "");
}

TEST(DeepSpeed, NamesOtherVariablesOfPdsh) {
  const Variables pdsh = {{"PDSH_SSH_ARGS", "-p 22 %h"}, {"PDSH_RCMD_TYPE", "ssh"}};
  EXPECT_EQ(notices_of("deepspeed -H hosts train.py", pdsh),
            "ignoring PDSH_SSH_ARGS: hosts are reached through ssh, with PDSH_SSH_ARGS_APPEND, or --remote-shell");
  EXPECT_EQ(notices_of("deepspeed train.py", pdsh), "");
  EXPECT_EQ(notices_of("deepspeed -H hosts train.py", {{"PDSH_RCMD_TYPE", "rsh"}}),
            "ignoring PDSH_RCMD_TYPE: hosts are reached through ssh, with PDSH_SSH_ARGS_APPEND, or --remote-shell");
}

TEST(DeepSpeed, LeavesItsHostfileAloneWhereEachNodeIsStarted) {
  const Variables started = {{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(notices_of("deepspeed -H hosts train.py", started), "ignoring --hostfile: bare starts muster on each node");
  EXPECT_EQ(notices_of("deepspeed -H hosts --no_ssh --num_nodes 2 train.py"),
            "ignoring --hostfile: with --no_ssh you start muster on each node");
  EXPECT_EQ(settings_of("deepspeed --hostfile=/dev/null train.py"), settings_of("deepspeed train.py"));
}

/// As in the pod of a platform that only runs the line, from which it goes to the others.
TEST(DeepSpeed, TakesAHostfileThatCannotBeThePlatformsNodes) {
  const Variables started = {{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  const auto hosts = [](const std::string& path) {
    return path == "hosts" ? std::optional<std::string>("a slots=4\nb slots=2\nc slots=1\n") : std::nullopt;
  };
  const auto line = read_line("deepspeed -H hosts train.py", snapshot_of(started), hosts);
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->settings.find("platform")->value, "flags");
  EXPECT_EQ(line->settings.find("hostfile")->value, "hosts");

  const auto chosen = read_line("deepspeed -H hosts --num_nodes=2 train.py", snapshot_of(started), hosts);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_FALSE(chosen->settings.has("hostfile")) << "they may be the nodes of the platform";

  Snapshot here = snapshot_of(started);
  here.host_name = "b";
  const auto refused = read_line("deepspeed -H hosts train.py", here, hosts);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--hostfile is 'hosts' but"), std::string::npos) << refused.error().message;
}

/// Of three hosts with 4, 2 and 1 slots.
std::string setting_of_listed(const std::string& options, const std::string& name) {
  const auto hosts = [](const std::string& path) {
    return path == "hosts" ? std::optional<std::string>("a slots=4\nme@b slots=2\nc slots=1\n") : std::nullopt;
  };
  const auto line = read_line("deepspeed --no_ssh -H hosts " + options + " train.py", snapshot_of({}), hosts);
  if (!line) {
    return line.error().message;
  }
  const auto setting = line->settings.find(name);
  return setting ? setting->value + " (" + setting->source.name + ")" : "";
}

TEST(DeepSpeed, LearnsOfTheNodesFromItsHostfileWhereEachIsStarted) {
  EXPECT_EQ(setting_of_listed("--node_rank 1", "nnodes"), "3 (--hostfile)");
  EXPECT_EQ(setting_of_listed("--node_rank 1", "nproc-per-node"), "2 (--hostfile)");
  EXPECT_EQ(setting_of_listed("--node_rank 1", "master-addr"), "a (--hostfile)");
  EXPECT_EQ(setting_of_listed("--node_rank 1", "hostfile"), "");
  EXPECT_EQ(setting_of_listed("--node_rank 1", kHostsOfNodes), "a,b,c (--hostfile)");
  EXPECT_EQ(setting_of_listed("--node_rank 1 --master_addr x", "master-addr"), "x (--master_addr)");
  EXPECT_EQ(setting_of_listed("--node_rank 1 --num_gpus 8", "nproc-per-node"), "8 (--num_gpus)");
  EXPECT_EQ(setting_of_listed("--node_rank 1 --num_nodes 2", "nnodes"), "2 (--hostfile)");
  EXPECT_EQ(setting_of_listed("--num_nodes 9", "nnodes"), "3 (--hostfile)");
  EXPECT_EQ(setting_of_listed("", "nproc-per-node"), "auto (default of deepspeed)");
}

TEST(DeepSpeed, ChoosesAmongNodesThatAreStartedByThemselves) {
  const std::string choice = "--node_rank 1 --include a@b:1";
  EXPECT_EQ(setting_of_listed(choice, "nnodes"), "2 (--hostfile)");
  EXPECT_EQ(setting_of_listed(choice, "devices"), "1 (--include)");
  EXPECT_EQ(setting_of_listed("--node_rank 0 --exclude a", "nproc-per-node"), "2 (--hostfile)");
  EXPECT_EQ(setting_of_listed("--include d", "nnodes"),
            "--include is 'd', expected hosts of the list, and 'd' is not one of them");
  EXPECT_EQ(error_of("deepspeed --no_ssh -H hosts train.py"),
            "64: --hostfile is 'hosts', expected a file that lists hosts and can be read, or --num_nodes");
}

Snapshot with_devices(int nvidia, Variables variables) {
  Snapshot snapshot = snapshot_of(std::move(variables));
  snapshot.devices.nvidia = nvidia;
  return snapshot;
}

std::string devices_of(const std::string& options, Variables variables = {}) {
  const auto line = read_line("deepspeed " + options + " train.py", with_devices(4, std::move(variables)));
  const auto devices = line ? line->settings.find("devices") : std::nullopt;
  return !line ? line.error().message : devices ? devices->value : "";
}

TEST(DeepSpeed, TakesDevicesOfThisNode) {
  EXPECT_EQ(setting_of("deepspeed --include=localhost:0,1 train.py", "devices"), "0,1 (--include)");
  EXPECT_EQ(devices_of("--include localhost:3,1@localhost:1"), "1,3");
  EXPECT_EQ(devices_of("--include localhost"), "");
  EXPECT_EQ(devices_of("--exclude=localhost:0,7"), "1,2,3");
  for (const std::string choice : {"--include=a:0", "--include=localhost@b", "--include=:0"}) {
    EXPECT_NE(devices_of(choice).find("expected devices of this node such as localhost:0,1, or a --hostfile"),
              std::string::npos)
        << choice;
  }
  for (const std::string choice : {"localhost", "localhost:0,1,2,3"}) {
    EXPECT_EQ(devices_of("--exclude " + choice),
              "--exclude is '" + choice + "', expected a choice that leaves a device of this node");
  }
}

TEST(DeepSpeed, NamesDevicesAsTheirListDoes) {
  const Variables shown = {{"CUDA_VISIBLE_DEVICES", "4,6,7"}};
  EXPECT_EQ(devices_of("--include localhost:4,7", shown), "0,2");
  EXPECT_EQ(devices_of("--exclude localhost:4", shown), "1,2");
  EXPECT_EQ(devices_of("--include localhost:1", shown),
            "--include is 'localhost:1', expected devices that CUDA_VISIBLE_DEVICES shows, which "
            "are '4,6,7'");
  EXPECT_EQ(devices_of("--include localhost:1", {{"CUDA_VISIBLE_DEVICES", "GPU-5f1c,GPU-77aa"}}), "1");
}

TEST(DeepSpeed, TakesAChoiceOrNumbers) {
  EXPECT_EQ(error_of("deepspeed --include localhost:0 --num_gpus 1 train.py"),
            "64: --include and --num_gpus contradict each other: leave one of them out");
  EXPECT_EQ(error_of("deepspeed -H hosts --exclude a --num_nodes 1 train.py"),
            "64: --exclude and --num_nodes contradict each other: leave one of them out");
  EXPECT_EQ(error_of("deepspeed -H hosts --exclude a --include b train.py"),
            "64: --include and --exclude contradict each other: leave one of them out");
  EXPECT_EQ(error_of("deepspeed --include localhost:0 --num_gpus -1 train.py"), "no error");
}

TEST(DeepSpeed, IsOneNodeWithoutANumberAndAList) {
  const std::string line = "deepspeed --no_ssh --node_rank 0 --master_addr a --num_gpus 1 train.py";
  EXPECT_EQ(setting_of(line, "nnodes"), "1 (default of deepspeed)");
  EXPECT_EQ(setting_of(line, "master-addr"), "");
  EXPECT_EQ(setting_of("deepspeed --master_addr= train.py", "nnodes"), "");
  const Variables started = {{"WORLD_SIZE", "2"}, {"RANK", "1"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(setting_of("deepspeed --no_ssh --node_rank 1 train.py", "nnodes", started), "");
}

TEST(DeepSpeed, LeavesOutVariablesOfAnotherStart) {
  EXPECT_EQ(setting_of("deepspeed train.py", "platform", {{"WORLD_SIZE", "2"}}),
            "single (deepspeed, which does not read WORLD_SIZE)");
  const Variables left = {{"WORLD_SIZE", "4"}, {"RANK", "0"}, {"MASTER_ADDR", "localhost"}};
  EXPECT_EQ(notices_of("deepspeed --num_gpus 2 train.py", left),
            "ignoring RANK, WORLD_SIZE, MASTER_ADDR: deepspeed does not read them, and what is "
            "there does not describe one of several nodes");
  EXPECT_EQ(setting_of("deepspeed -H hosts train.py", "platform", left), "");
}

TEST(DeepSpeed, NamesWhatStandsForItsElasticJobs) {
  for (const std::string option : {"--elastic_training", "--min_elastic_nodes=2", "--max_elastic_nodes=4"}) {
    EXPECT_EQ(error_of("deepspeed " + option + " train.py"),
              "64: " + option.substr(0, option.find('=')) +
                  " is refused: muster does not start DeepSpeed's elastic agent; with --nnodes MIN:MAX and "
                  "--max-restarts, nodes can join and leave");
  }
  EXPECT_EQ(setting_of("deepspeed --nnodes 2:4 train.py", "nnodes"), "2:4 (--nnodes)");
}

TEST(DeepSpeed, RunsTheScriptModuleOrProgram) {
  EXPECT_TRUE(read_line("deepspeed train")->is_python_script);
  EXPECT_FALSE(read_line("deepspeed --no_python train")->is_python_script);
  EXPECT_EQ(setting_of("deepspeed --module package.train a", "module"), "package.train (--module)");
  EXPECT_EQ(setting_of("deepspeed --no_local_rank train.py", "template-arguments"), "never (--no_local_rank)");
  EXPECT_EQ(error_of("deepspeed --module --no_python a"),
            "64: --module and --no_python contradict each other: a module is run by Python");
}

}  // namespace
}  // namespace muster
