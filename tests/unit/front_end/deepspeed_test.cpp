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
  EXPECT_EQ(setting_of("deepspeed --num_accelerators 2 train.py", "nproc-per-node"),
            "2 (--num_accelerators)");
}

TEST(DeepSpeed, TakesTheNodesFromFlags) {
  EXPECT_EQ(settings_of("deepspeed --num_nodes=2 --no_ssh --node_rank=1 --master_addr=a "
                        "--master_port 6000 --num_gpus 8 train.py"),
            "master-addr=a (--master_addr); master-port=6000 (--master_port); mode=deepspeed "
            "(deepspeed); nnodes=2 (--num_nodes); node-rank=1 (--node_rank); nproc-per-node=8 "
            "(--num_gpus)");
}

TEST(DeepSpeed, SaysWhatItDoesNotNeed) {
  EXPECT_EQ(notices_of("deepspeed --launcher slurm train.py"),
            "ignoring --launcher: muster goes to other hosts by itself, through ssh or "
            "--remote-shell");
}

TEST(DeepSpeed, StartsTheHostsOfItsHostfile) {
  const std::string line = "deepspeed -H hosts --ssh_port 2222 --include a@b:0,1 train.py";
  EXPECT_EQ(setting_of(line, "hostfile"), "hosts (--hostfile)");
  EXPECT_EQ(setting_of(line, "remote-shell"), "ssh -p 2222 (--ssh_port)");
  EXPECT_EQ(setting_of(line, "include-hosts"), "a@b:0,1 (--include)");
  EXPECT_EQ(setting_of("deepspeed -H hosts --exclude=b train.py", "exclude-hosts"),
            "b (--exclude)");
}

TEST(DeepSpeed, LeavesItsHostfileAloneWhereEachNodeIsStarted) {
  EXPECT_EQ(notices_of("deepspeed -H hosts --no_ssh train.py"),
            "ignoring --hostfile: with --no_ssh each node is started by itself");
  const Variables started = {
      {"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(notices_of("deepspeed -H hosts train.py", started),
            "ignoring --hostfile: bare starts muster on each node");
}

TEST(DeepSpeed, TakesDevicesOfThisNode) {
  EXPECT_EQ(setting_of("deepspeed --include=localhost:0,1 train.py", "devices"), "0,1 (--include)");
  for (const std::string choice :
       {"--include=a:0", "--include=localhost", "--exclude=localhost:0"}) {
    EXPECT_NE(error_of("deepspeed " + choice + " train.py")
                  .find("expected devices of this node such as --include localhost:0,1, or a "
                        "--hostfile"),
              std::string::npos)
        << choice;
  }
}

TEST(DeepSpeed, NamesWhatStandsForItsElasticJobs) {
  for (const std::string option :
       {"--elastic_training", "--min_elastic_nodes=2", "--max_elastic_nodes=4"}) {
    EXPECT_EQ(error_of("deepspeed " + option + " train.py"),
              "64: " + option.substr(0, option.find('=')) +
                  " is refused: --nnodes MIN:MAX with --max-restarts lets nodes come and go; "
                  "DeepSpeed's own agent is not there");
  }
  EXPECT_EQ(setting_of("deepspeed --nnodes 2:4 train.py", "nnodes"), "2:4 (--nnodes)");
}

TEST(DeepSpeed, RunsTheScriptAsItIsTold) {
  EXPECT_TRUE(read_line("deepspeed train")->is_python_script);
  EXPECT_FALSE(read_line("deepspeed --no_python train")->is_python_script);
  EXPECT_EQ(setting_of("deepspeed --module package.train a", "module"), "package.train (--module)");
  EXPECT_EQ(setting_of("deepspeed --no_local_rank train.py", "template-arguments"),
            "never (--no_local_rank)");
  EXPECT_EQ(error_of("deepspeed --module --no_python a"),
            "64: --module and --no_python contradict each other: a module is run by Python");
}

}  // namespace
}  // namespace muster
