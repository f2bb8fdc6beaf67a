// The command line of `colossalai run`.
#include "lines.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kPool = "a\n\nb\nc\n";

std::optional<std::string> pool(const std::string& path) {
  return path == "pool" ? std::optional<std::string>(kPool) : std::nullopt;
}

/// A setting of a line that may name the hostfile "pool", as "value (source)", or the error.
std::string of_pool(const std::string& text, const std::string& name) {
  const auto line = read_line(text, snapshot_of({}), pool);
  if (!line) {
    return line.error().message;
  }
  const auto setting = line->settings.find(name);
  return setting ? setting->value + " (" + setting->source.name + ")" : "";
}

TEST(ColossalAi, IsALineOfTorchrunOnThisNode) {
  EXPECT_EQ(settings_of("colossalai run --nproc_per_node 2 train.py"),
            "mode=torchrun (colossalai run); nproc-per-node=2 (--nproc_per_node)");
  EXPECT_EQ(setting_of("colossalai run train.py", "nproc-per-node"), "auto (default of colossalai run)");
}

TEST(ColossalAi, GoesToHosts) {
  const std::string line = "colossalai run --host a,b --nproc_per_node 8 --ssh-port 2222 train.py";
  EXPECT_EQ(setting_of(line, "hosts"), "a,b (--host)");
  EXPECT_EQ(setting_of(line, "remote-shell"), "ssh -p 2222 (--ssh-port)");
  EXPECT_EQ(setting_of(line, "nproc-per-node"), "8 (--nproc_per_node)");
  EXPECT_EQ(setting_of("colossalai run -host a,b train.py", "hosts"), "a,b (-host)");
  EXPECT_EQ(setting_of("colossalai run -H a,b train.py", "hosts"), "a,b (--host)");
  EXPECT_EQ(error_of("colossalai run --host a,,b train.py"), "64: --host is 'a,,b', expected hosts such as a,b");
}

TEST(ColossalAi, SharesItsInputWithWorkersHereOnly) {
  EXPECT_EQ(setting_of("colossalai run --nproc_per_node 2 train.py", "stdin"), "all (default of torchrun)");
  EXPECT_EQ(setting_of("colossalai run --host a,b train.py", "stdin"), "");
}

TEST(ColossalAi, LeavesOutVariablesOfAnotherStart) {
  EXPECT_EQ(setting_of("colossalai run train.py", "platform", {{"WORLD_SIZE", "2"}}),
            "single (colossalai run, which does not read WORLD_SIZE)");
  EXPECT_EQ(setting_of("colossalai run --host a,b train.py", "platform", {{"WORLD_SIZE", "2"}}),
            "flags (colossalai run, which does not read WORLD_SIZE)");
}

TEST(ColossalAi, TakesTheFirstHostForItsDefaultAddress) {
  EXPECT_EQ(setting_of("colossalai run --host a,b train.py", "master-addr"), "");
  EXPECT_EQ(setting_of("colossalai run --host a,b --master_addr 127.0.0.1 t.py", "master-addr"), "");
  const Variables started = {{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(setting_of("colossalai run --host a,b --master_addr 127.0.0.1 t.py", "master-addr", started), "");
}

TEST(ColossalAi, ChoosesHostsOfItsHostfile) {
  EXPECT_EQ(of_pool("colossalai run --hostfile pool t.py", "hosts"), "a,b,c (--hostfile)");
  EXPECT_EQ(of_pool("colossalai run --hostfile pool --include c,a t.py", "hosts"), "c,a (--hostfile)");
  EXPECT_EQ(of_pool("colossalai run --hostfile pool --exclude b t.py", "hosts"), "a,c (--hostfile)");
  EXPECT_EQ(of_pool("colossalai run --hostfile pool --num_nodes 2 t.py", "hosts"), "a,b (--hostfile)");
  EXPECT_EQ(of_pool("colossalai run --hostfile pool --include x t.py", "hosts"),
            "--include is 'x', expected hosts of --hostfile, and 'x' is not one of them");
  EXPECT_EQ(of_pool("colossalai run --hostfile pool --exclude a,b,c t.py", "hosts"),
            "--exclude is 'a,b,c', expected a host that is left");
  EXPECT_EQ(of_pool("colossalai run --hostfile x t.py", "hosts"),
            "--hostfile is 'x', expected a file with a host on each line that can be read");
  EXPECT_EQ(of_pool("colossalai run --hostfile pool --num_nodes x t.py", "hosts"),
            "--num_nodes is 'x', expected a number of nodes");
}

TEST(ColossalAi, RefusesWhatContradicts) {
  const std::string end = " contradict each other: leave one of them out";
  EXPECT_EQ(of_pool("colossalai run --hostfile pool --include a --exclude b t.py", ""),
            "--include and --exclude" + end);
  EXPECT_EQ(of_pool("colossalai run --hostfile pool --host a t.py", ""), "--host and --hostfile" + end);
}

TEST(ColossalAi, NamesOptionsThatNeedAHostfile) {
  EXPECT_EQ(notices_of("colossalai run --include a --num_nodes 2 t.py"),
            "ignoring --include: there is no --hostfile; ignoring --num_nodes: there is no "
            "--hostfile");
}

TEST(ColossalAi, GivesTorchrunItsArguments) {
  const std::string line =
      "colossalai run --nproc_per_node 2 --master_port 29501 "
      "--extra_launch_args nnodes=2,node_rank=1,master_addr=b,max_restarts=1 train.py";
  EXPECT_EQ(setting_of(line, "nnodes"), "2 (--extra_launch_args --nnodes)");
  EXPECT_EQ(setting_of(line, "node-rank"), "1 (--extra_launch_args --node_rank)");
  EXPECT_EQ(setting_of(line, "master-addr"), "b (--extra_launch_args --master_addr)");
  EXPECT_EQ(setting_of(line, "max-restarts"), "1 (--extra_launch_args --max_restarts)");
  EXPECT_EQ(error_of("colossalai run --extra_launch_args foo=1 train.py").substr(0, 47),
            "64: --extra_launch_args: unknown option '--foo'");
  EXPECT_EQ(error_of("colossalai run --extra_launch_args standalone,,foo train.py"),
            "64: --extra_launch_args is 'standalone,,foo', expected options of torchrun such as "
            "standalone,max_restarts=3");
}

TEST(ColossalAi, ReadsOptionsAsClickDoes) {
  EXPECT_EQ(program_of("colossalai run train.py --lr 1 --nproc_per_node 2"), "train.py --lr 1");
  EXPECT_EQ(setting_of("colossalai run train.py --lr 1 --nproc_per_node 2", "nproc-per-node"), "2 (--nproc_per_node)");
  EXPECT_EQ(program_of("colossalai run train.py -- --nproc_per_node 2"), "train.py --nproc_per_node 2");
  EXPECT_EQ(program_of("colossalai run train.py --nproc-per-node 2 --m 3"), "train.py --nproc-per-node 2 --m 3");
  EXPECT_EQ(error_of("colossalai run --nproc 2 train.py").substr(0, 27), "64: unknown option '--nproc");
}

TEST(ColossalAi, RunsAModuleOrAScript) {
  EXPECT_EQ(setting_of("colossalai run -m package.train --lr 1", "module"), "package.train (-m)");
  EXPECT_EQ(program_of("colossalai run -m package.train --lr 1"), "--lr 1");
  EXPECT_EQ(error_of("colossalai run -m train.py"), "64: -m is 'train.py', expected the name of a module, and no file");
  EXPECT_EQ(error_of("colossalai run ./train"),
            "64: the script is './train', expected one that ends with .py, or -m MODULE");
}

TEST(ColossalAi, LeavesItsOtherCommandsAlone) {
  EXPECT_EQ(error_of("colossalai check -i"),
            "64: 'muster colossalai' knows only the command 'run': for 'check' start colossalai itself");
}

}  // namespace
}  // namespace muster
