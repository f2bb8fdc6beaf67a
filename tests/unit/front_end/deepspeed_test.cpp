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
  EXPECT_EQ(notices_of("deepspeed -H hosts train.py"),
            "ignoring --hostfile: each node starts muster itself; the platform or --num_nodes and "
            "--master_addr describe them");
  EXPECT_EQ(notices_of("deepspeed --launcher slurm train.py"),
            "ignoring --launcher: nobody logs in anywhere: each node starts muster itself");
}

TEST(DeepSpeed, DoesNotLeaveDevicesOutInSilence) {
  for (const std::string option : {"--include", "--exclude"}) {
    EXPECT_EQ(error_of("deepspeed " + option + "=localhost:0,1 train.py"),
              "64: " + option +
                  " is refused: --devices on each node says which devices are used");
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
