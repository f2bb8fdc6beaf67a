// The command line of Paddle's launcher.
#include "lines.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Paddle, TakesAllDevicesOfThisNode) {
  EXPECT_EQ(settings_of("fleetrun train.py"),
            "export:PADDLE_AUTO_CLUSTER=0 (default of paddle.distributed.launch); "
            "export:PADDLE_DISTRI_BACKEND=gloo (default of paddle.distributed.launch); "
            "export:PADDLE_LOG_DIR=/home/user/job/log (default of paddle.distributed.launch); "
            "log-dir=log (default of paddle.distributed.launch); mode=paddle "
            "(paddle.distributed.launch); nproc-per-node=auto (default of paddle.distributed.launch)");
  EXPECT_EQ(setting_of("paddle.distributed.launch --gpus 0,1 train.py", "devices"), "0,1 (--gpus)");
  EXPECT_EQ(setting_of("paddle.distributed.launch --gpus 0,1 train.py", "nproc-per-node"), "");
  EXPECT_EQ(setting_of("paddle.distributed.launch --nproc_per_node 2 train.py", "nproc-per-node"),
            "2 (--nproc_per_node)");
}

TEST(Paddle, GivesOneWorkerAllDevices) {
  const std::string line = "fleetrun --devices 4,5 --nproc_per_node 1 train.py";
  EXPECT_EQ(setting_of(line, "export:FLAGS_selected_gpus"), "0,1 (--nproc_per_node)");
  EXPECT_EQ(setting_of(line, "export:PADDLE_DISTRI_BACKEND"), "");
  const Variables ascends = {{"ASCEND_RT_VISIBLE_DEVICES", "4,5"}};
  EXPECT_EQ(setting_of(line, "export:FLAGS_selected_npus", ascends), "0,1 (--nproc_per_node)");
}

TEST(Paddle, ExportsTheNetworkSettingsOfWorkers) {
  const std::string name = "export:PADDLE_DISTRI_BACKEND";
  EXPECT_EQ(setting_of("fleetrun a.py", name), "gloo (default of paddle.distributed.launch)");
  EXPECT_EQ(setting_of("fleetrun --gpus 0,1 a.py", name), "");
  EXPECT_EQ(setting_of("fleetrun --npus 0,1 a.py", name, {{"PADDLE_XCCL_BACKEND", "npu"}}),
            "xccl (PADDLE_XCCL_BACKEND)");
}

Result<CommandLine> read_with_devices(const std::string& text, Variables variables) {
  Snapshot snapshot = snapshot_of(std::move(variables));
  snapshot.devices.nvidia = 8;
  return read_line(text, snapshot);
}

TEST(Paddle, NamesDevicesAsTheirListDoes) {
  const Variables shown = {{"CUDA_VISIBLE_DEVICES", "2,3,5"}};
  const auto line = read_with_devices("fleetrun --gpus 2,5 a.py", shown);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->settings.find("devices")->value, "0,2");
  EXPECT_EQ(read_with_devices("fleetrun --gpus 0 a.py", shown).error().message,
            "--gpus is '0', expected devices that CUDA_VISIBLE_DEVICES shows, which are '2,3,5'");
  EXPECT_EQ(read_with_devices("fleetrun --gpus 7 a.py", {})->settings.find("devices")->value, "7");
}

TEST(Paddle, TakesTheOptionsOfItsOldLauncher) {
  EXPECT_EQ(setting_of("fleetrun --selected_gpus=0,1 a.py", "devices"), "0,1 (--selected_gpus)");
  EXPECT_EQ(setting_of("fleetrun --np 2 a.py", "nnodes"), "2 (--np)");
  EXPECT_EQ(setting_of("fleetrun --backend gloo a.py", "export:PADDLE_DISTRI_BACKEND"), "gloo (--backend)");
  EXPECT_EQ(setting_of("fleetrun --backend auto a.py", "export:PADDLE_DISTRI_BACKEND"),
            "gloo (default of paddle.distributed.launch)");
  EXPECT_EQ(
      error_of("fleetrun --backend heter a.py"),
      "64: --backend is 'heter', expected auto, nccl, bkcl or gloo: start anything else by Paddle's own launcher");
  const std::string line = "fleetrun --cluster_node_ips=10.0.0.1,10.0.0.2 --node_ip=10.0.0.2 a.py";
  EXPECT_EQ(setting_of(line, "node-rank"), "1 (--cluster_node_ips)");
  EXPECT_EQ(setting_of(line, "node-rank", {{"POD_IP", "10.0.0.1"}}), "0 (--cluster_node_ips)");
}

TEST(Paddle, LeavesOutVariablesOfAnotherStart) {
  const Variables left = {{"WORLD_SIZE", "4"}, {"RANK", "0"}, {"MASTER_ADDR", "localhost"}};
  EXPECT_EQ(setting_of("fleetrun a.py", "platform", left),
            "single (paddle.distributed.launch, which does not read RANK)");
  EXPECT_EQ(setting_of("fleetrun --nnodes 2 --master 10.0.0.1:6070 a.py", "platform", left),
            "flags (paddle.distributed.launch, which does not read RANK)");
}

TEST(Paddle, TakesTheNodesFromFlags) {
  const std::string line = "fleetrun --nnodes 2 --master 10.0.0.1:6070 --rank 1 train.py";
  EXPECT_EQ(setting_of(line, "nnodes"), "2 (--nnodes)");
  EXPECT_EQ(setting_of(line, "master-addr"), "10.0.0.1 (--master)");
  EXPECT_EQ(setting_of(line, "master-port"), "6070 (--master)");
  EXPECT_EQ(setting_of(line, "node-rank"), "1 (--rank)");
  EXPECT_EQ(setting_of("fleetrun --nnodes 2 --rank -1 train.py", "node-rank"), "");
  EXPECT_EQ(setting_of("fleetrun --master a:1 train.py", "nnodes"), "1 (default of paddle.distributed.launch)");
  EXPECT_EQ(setting_of("fleetrun --master a:1 train.py", "master-addr"), "");
  EXPECT_EQ(error_of("fleetrun --nnodes 2 --master a train.py"), "64: --master is 'a', expected HOST:PORT");
}

TEST(Paddle, NeedsNoEtcd) {
  const std::string line = "fleetrun --master etcd://10.0.0.1:2379 --nnodes 2:4 --elastic_level 1 train.py";
  EXPECT_EQ(notices_of(line), "ignoring --master: it names an etcd server, and muster needs none");
  EXPECT_EQ(setting_of(line, "nnodes"), "2:4 (--nnodes)");
  EXPECT_EQ(setting_of(line, "last-call"), "30 (default of paddle.distributed.launch)");
  EXPECT_EQ(setting_of(line, "max-restarts"), "3 (--elastic_level)");
  EXPECT_EQ(setting_of("fleetrun --elastic_level=0 --max_restart=5 a.py", "max-restarts"), "5 (--max_restart)");
  EXPECT_EQ(setting_of("fleetrun --max_restart 5 a.py", "max-restarts"), "");
}

TEST(Paddle, FindsItselfInAListOfNodes) {
  Snapshot snapshot = snapshot_of({});
  snapshot.addresses = {"10.0.0.2"};
  const auto line = read_line("fleetrun --ips 10.0.0.1,10.0.0.2 --start_port 7000 a.py", snapshot);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->settings.find("node-rank")->value, "1");
  EXPECT_EQ(line->settings.find("nnodes")->value, "2");
  EXPECT_EQ(line->settings.find("master-addr")->value, "10.0.0.1");
  EXPECT_EQ(line->settings.find("master-port")->value, "7000");
  EXPECT_EQ(setting_of("fleetrun --ips 10.0.0.1 a.py", "nnodes"), "1 (--ips)");
}

TEST(Paddle, LetsVariablesWinOverFlags) {
  const Variables variables = {{"PADDLE_NNODES", "2"},
                               {"PADDLE_MASTER", "10.0.0.1:6070"},
                               {"PADDLE_TRAINER_ID", "1"},
                               {"PADDLE_AUTO_CLUSTER", "true"}};
  const std::string line = "fleetrun --nnodes 1 --rank 0 train.py";
  EXPECT_EQ(setting_of(line, "nnodes", variables), "2 (PADDLE_NNODES)");
  EXPECT_EQ(setting_of(line, "node-rank", variables), "1 (PADDLE_TRAINER_ID)");
  EXPECT_EQ(setting_of(line, "export:PADDLE_AUTO_CLUSTER", variables), "True (PADDLE_AUTO_CLUSTER)");
  EXPECT_EQ(notices_of(line, variables),
            "PADDLE_NNODES is '2' and wins over --nnodes, as in paddle.distributed.launch; "
            "PADDLE_TRAINER_ID is '1' and wins over --rank, as in paddle.distributed.launch");
  EXPECT_EQ(notices_of("fleetrun --nnodes 2 --rank 1 a.py", {{"PADDLE_TRAINER_ID", "1"}}), "");
  EXPECT_EQ(setting_of("fleetrun --nnodes 2 a.py", "node-rank", {{"PADDLE_RANK", "0"}, {"PADDLE_TRAINER_ID", "1"}}),
            "0 (PADDLE_RANK)");
}

TEST(Paddle, WritesLogsIntoTheGivenFolder) {
  EXPECT_EQ(setting_of("fleetrun --log_dir /logs train.py", "export:PADDLE_LOG_DIR"), "/logs (--log_dir)");
  EXPECT_EQ(setting_of("fleetrun --log_dir= train.py", "log-dir"), "");
}

TEST(Paddle, RefusesWhatOnlyPaddleStarts) {
  const std::string servers =
      " is refused: muster starts only Paddle's collective training; to start parameter servers, use Paddle's own "
      "launcher";
  EXPECT_EQ(error_of("fleetrun --server_num 1 train.py"), "64: --server_num" + servers);
  EXPECT_EQ(error_of("fleetrun --servers a:1 train.py"), "64: --servers" + servers);
  EXPECT_EQ(error_of("fleetrun --worker_num=1 --server_num=1 a.py"), "64: --server_num" + servers);
  EXPECT_EQ(error_of("fleetrun --workers a:1 a.py"), "64: --workers" + servers);
  EXPECT_EQ(error_of("fleetrun run_check"),
            "64: the script is 'run_check', which is a test of Paddle's own launcher: start it "
            "without muster");
  EXPECT_EQ(error_of("fleetrun a.py", {{"XPU_VISIBLE_DEVICES", "0,1"}}),
            "78: XPU_VISIBLE_DEVICES is '0,1', expected devices of NVIDIA, Ascend or AMD: start anything else by "
            "Paddle's own launcher");
  EXPECT_EQ(error_of("fleetrun a.py", {{"PADDLE_XCCL_BACKEND", "npu"}}), "no error");
  EXPECT_EQ(error_of("fleetrun a.py", {{"PADDLE_SERVERS_ENDPOINTS", "a:1"}}),
            "78: PADDLE_SERVERS_ENDPOINTS is 'a:1', expected no parameter servers: start anything else by Paddle's own "
            "launcher");
  EXPECT_EQ(error_of("fleetrun a.py", {{"PADDLE_TRAINERS", "10.0.0.1"}}), "no error");
  EXPECT_EQ(error_of("fleetrun --run_mode ps train.py"),
            "64: --run_mode is 'ps', expected collective: start anything else by Paddle's own launcher");
  EXPECT_EQ(error_of("fleetrun --legacy true train.py"),
            "64: --legacy is 'true', expected False: start anything else by Paddle's own launcher");
  EXPECT_EQ(error_of("fleetrun --auto_cluster_config x train.py"),
            "64: --auto_cluster_config is 'x', expected True or False");
}

TEST(Paddle, RunsAProgramThatIsNoScript) {
  EXPECT_FALSE(read_line("fleetrun ./train")->is_python_script);
  EXPECT_EQ(program_of("fleetrun train.py --nnodes 3"), "train.py --nnodes 3");
}

}  // namespace
}  // namespace muster
