// msrun's command line: what each option becomes, alone and beside others.
#include "lines.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::string kLogs = "log-dir=. (default of msrun); ";
const std::string kTee = "; tee=3 (default of msrun)";
const std::string kDefault = " (default of msrun)";

TEST(Msrun, IsOneNodeOfEightWorkersByDefault) {
  EXPECT_EQ(settings_of("msrun train.py"),
            kLogs +
                "mode=msrun (msrun); nnodes=1 (default of msrun); nproc-per-node=8 (default of "
                "msrun)" +
                kTee + "; total-workers=8 (default of msrun)");
}

TEST(Msrun, TakesTheNodesFromFlags) {
  EXPECT_EQ(settings_of("msrun --worker_num=16 --local_worker_num=4 --master_addr=[fd00::1] "
                        "--master_port=8200 --node_rank=3 train.py"),
            kLogs +
                "master-addr=fd00::1 (--master_addr); master-port=8200 (--master_port); mode=msrun "
                "(msrun); node-rank=3 (--node_rank); nproc-per-node=4 (--local_worker_num)" +
                kTee + "; total-workers=16 (--worker_num); worker-port=8200 (--master_port)");
}

TEST(Msrun, MeetsAtItsDefaultPortWithSeveralNodes) {
  EXPECT_EQ(setting_of("msrun --worker_num=16 a.py", "master-port"), "8118" + kDefault);
  EXPECT_EQ(setting_of("msrun --worker_num=16 a.py", "worker-port"), "");
  EXPECT_EQ(setting_of("msrun a.py", "master-port"), "");
}

TEST(Msrun, HasSaidHowManyNodesThereAre) {
  const auto line = read_line("msrun --worker_num=16 --join=True a.py");
  Cluster cluster;
  cluster.job.most_nodes = 2;
  cluster.decisions = {{"nodes.count", "2", "--worker_num"}};

  EXPECT_TRUE(compat_notices(*line, cluster).empty());
}

TEST(Msrun, LeavesRanksToArrivalWithoutANodeRank) {
  EXPECT_EQ(setting_of("msrun --worker_num=16 --node_rank=-1 a.py", "node-rank"), "");
  EXPECT_EQ(setting_of("msrun --worker_num=16 --node_rank -1 a.py", "node-rank"), "");
}

TEST(Msrun, IgnoresTheRankOfTheOnlyNode) {
  EXPECT_EQ(setting_of("msrun --join=True --node_rank=2 a.py", "node-rank"), "");
  EXPECT_EQ(notices_of("msrun --join=True --node_rank=2 a.py"),
            "ignoring --node_rank: all workers of the job are on this node");
  EXPECT_EQ(notices_of("msrun --join=True --node_rank=0 a.py"), "");
}

TEST(Msrun, RefusesMoreWorkersHereThanInAll) {
  EXPECT_EQ(error_of("msrun --worker_num=4 a.py"),
            "64: --local_worker_num is '8' but --worker_num is '4': there are no more workers here "
            "than in the job");
  for (const std::string bad : {"0", "-2", "x", "1.5"}) {
    EXPECT_EQ(error_of("msrun --worker_num=" + bad + " a.py"),
              "64: --worker_num is '" + bad + "', expected a number of workers of at least 1");
    EXPECT_EQ(error_of("msrun --local_worker_num=" + bad + " a.py"),
              "64: --local_worker_num is '" + bad + "', expected a number of workers of at least 1");
  }
}

TEST(Msrun, WaitsAndSaysSo) {
  EXPECT_EQ(notices_of("msrun a.py"), "waiting for the workers; msrun without --join=True would not wait");
  for (const std::string form : {"True", "true"}) {
    EXPECT_EQ(notices_of("msrun --join=" + form + " a.py"), "");
  }
  for (const std::string form : {"False", "false"}) {
    EXPECT_EQ(notices_of("msrun --join=" + form + " a.py"),
              "waiting for the workers in spite of --join=" + form + ": somebody must see when one fails");
  }
  EXPECT_EQ(error_of("msrun --join=yes a.py"), "64: --join is 'yes', expected one of True, False, true, false");
}

TEST(Msrun, WaitsForTheClusterForTheGivenTimeout) {
  EXPECT_EQ(setting_of("msrun --cluster_time_out=7200 a.py", "gang-timeout"), "7200 (--cluster_time_out)");
  EXPECT_EQ(setting_of("msrun --cluster_time_out=7200 a.py", "set:cluster_time_out"), "7200 (--cluster_time_out)");
  EXPECT_EQ(setting_of("msrun --cluster_time_out=-1 a.py", "set:cluster_time_out"), "-1 (--cluster_time_out)");
  EXPECT_EQ(setting_of("msrun --cluster_time_out=-1 a.py", "gang-timeout"), "31536000 (--cluster_time_out)");
}

TEST(Msrun, PassesBindingsOn) {
  EXPECT_EQ(setting_of("msrun --bind_core=True a.py", "bind-core"), "True (--bind_core)");
  EXPECT_EQ(setting_of("msrun --bind_core={\"device0\":[\"0-10\"]} a.py", "bind-core"),
            "{\"device0\":[\"0-10\"]} (--bind_core)");
  EXPECT_EQ(setting_of("msrun --bind_numa=bind.json a.py", "bind-numa"), "bind.json (--bind_numa)");
}

TEST(Msrun, WritesLogs) {
  EXPECT_EQ(setting_of("msrun --log_dir=output a.py", "log-dir"), "output (--log_dir)");
  EXPECT_EQ(setting_of("msrun --log_dir= a.py", "log-dir"), "." + kDefault);
  EXPECT_EQ(setting_of("msrun --tail_worker_log=0,3 a.py", "local-ranks-filter"), "0,3 (--tail_worker_log)");
  EXPECT_EQ(setting_of("msrun --tail_worker_log=-1 a.py", "local-ranks-filter"), "");
  EXPECT_EQ(setting_of("msrun --worker_log_name=w_{hostname}_{ip} --master_addr=127.0.0.1 a.py", "set:worker_log_name"),
            "w_node-a_127.0.0.1 (--worker_log_name)");
  EXPECT_EQ(setting_of("msrun --rank_table_file=/t.json a.py", "set:rank_table_file"), "/t.json (--rank_table_file)");
  EXPECT_EQ(setting_of("msrun a.py", "log-dir", {{"MUSTER_LOG_DIR", "mine"}}), "mine (MUSTER_LOG_DIR)");
}

TEST(Msrun, ShowsWorkersByTheirRankInTheJob) {
  const std::string second = "msrun --worker_num=16 --local_worker_num=8 --node_rank=1 --join=True ";
  EXPECT_EQ(setting_of(second + "--tail_worker_log=3,8,15 a.py", "local-ranks-filter"), "0,7 (--tail_worker_log)");
  EXPECT_EQ(setting_of(second + "--tail_worker_log=3 a.py", "redirects"), "3 (--tail_worker_log)");
  EXPECT_EQ(setting_of(second + "--tail_worker_log=3 a.py", "tee"), "");
  EXPECT_EQ(setting_of("msrun --node_rank=1 --tail_worker_log=3 a.py", "local-ranks-filter"), "3 (--tail_worker_log)")
      << "the only node";
  EXPECT_EQ(notices_of("msrun --worker_num=16 --join=True --tail_worker_log=3 a.py"),
            "taking --tail_worker_log as local ranks: without --node_rank the others go by arrival");
  EXPECT_EQ(error_of("msrun --tail_worker_log=all a.py"),
            "64: --tail_worker_log is 'all', expected ranks separated by commas, such as 0,3, or -1 "
            "for all");
}

// Dry runs

TEST(MsrunSimulation, IsAJobOfThisNodeAlone) {
  EXPECT_EQ(settings_of("msrun --worker_num=64 --local_worker_num=8 --sim_level=1 --join=True a.py"),
            kLogs +
                "mode=msrun-simulation (--sim_level); nnodes=1 (--sim_level); nproc-per-node=8 "
                "(--local_worker_num); set:sim_level=1 (--sim_level); set:worker_num=64 "
                "(--worker_num)" +
                kTee);
}

TEST(MsrunSimulation, CanBeOfOneRank) {
  const std::string line = "msrun --worker_num=64 --local_worker_num=8 --sim_level=0 --sim_rank_id=13 a";
  EXPECT_EQ(setting_of(line, "set:sim_rank_id"), "13 (--sim_rank_id)");
  EXPECT_EQ(setting_of(line, "nproc-per-node"), "1 (--sim_rank_id)");
  EXPECT_EQ(error_of("msrun --sim_level=0 --sim_rank_id=x a"),
            "64: --sim_rank_id is 'x', expected a rank such as 0, or -1 for all of this node");
}

TEST(MsrunSimulation, PlaysNoRankThatTheJobDoesNotHave) {
  EXPECT_EQ(error_of("msrun --sim_level 0 --sim_rank_id 9 a.py"),
            "64: --sim_rank_id is '9' but --worker_num is '8': a rank must be below its count");
  EXPECT_EQ(error_of("msrun a.py", {{"RANK_ID", "8"}, {"RANK_SIZE", "8"}, {"MS_SIMULATION_LEVEL", "1"}}),
            "78: RANK_ID is '8' but RANK_SIZE is '8': a rank must be below its count");
  EXPECT_EQ(error_of("msrun --worker_num=8 --local_worker_num=8 --sim_level=1 a.py", {{"RANK_ID", "8"}}),
            "64: RANK_ID is '8' but --worker_num is '8': a rank must be below its count");
  EXPECT_EQ(setting_of("msrun --sim_level=0 --sim_rank_id=7 a.py", "set:sim_rank_id"), "7 (--sim_rank_id)");
}

TEST(MsrunSimulation, CanComeFromVariables) {
  const Variables variables = {{"MS_SIMULATION_LEVEL", "2"}, {"RANK_ID", "5"}};
  EXPECT_EQ(setting_of("msrun a.py", "mode", variables), "msrun-simulation (MS_SIMULATION_LEVEL)");
  EXPECT_EQ(setting_of("msrun a.py", "set:sim_rank_id", variables), "5 (RANK_ID)");
  EXPECT_EQ(setting_of("msrun --sim_rank_id=6 a.py", "set:sim_rank_id", variables), "6 (--sim_rank_id)");
  EXPECT_EQ(setting_of("msrun a.py", "mode", {{"RANK_ID", "5"}}), "msrun (msrun)");
  EXPECT_EQ(settings_of("msrun --sim_level=1 a.py", {{"RANK_ID", ""}}), settings_of("msrun --sim_level=1 a.py"));
}

TEST(MsrunSimulation, TakesItsSizeFromRankSizeWhereAVariableEnablesIt) {
  const Variables variables = {{"MS_SIMULATION_LEVEL", "0"}, {"RANK_SIZE", "1024"}};
  EXPECT_EQ(setting_of("msrun --worker_num=64 a.py", "set:worker_num", variables), "1024 (RANK_SIZE)");
  EXPECT_EQ(setting_of("msrun --worker_num=64 --sim_level=0 a.py", "set:worker_num", variables), "64 (--worker_num)");
  EXPECT_EQ(error_of("msrun a.py", {{"MS_SIMULATION_LEVEL", "0"}, {"RANK_SIZE", "many"}}),
            "78: RANK_SIZE is 'many', expected a number of workers of at least 1");
}

TEST(MsrunSimulation, StartsOneProcessForMoreThanAMachineCanRun) {
  const std::string line = "msrun --worker_num=256 --local_worker_num=256 --join=True --sim_level=0 a";
  EXPECT_EQ(setting_of(line, "nproc-per-node"), "1 (--local_worker_num)");
  EXPECT_EQ(notices_of(line), "starting one process for rank 0, as msrun does: --local_worker_num is above 128");
}

TEST(MsrunSimulation, HasLevels) {
  EXPECT_EQ(error_of("msrun --sim_level=4 a.py"), "64: --sim_level is '4', expected one of -1, 0, 1, 2, 3");
  EXPECT_EQ(setting_of("msrun --sim_level=-1 a.py", "mode"), "msrun (msrun)");
  EXPECT_EQ(setting_of("msrun --sim_level=-1 a.py", "set:sim_level"), "");
}

// The script

TEST(Msrun, GivesEverythingToPythonButThree) {
  for (const std::string program : {"python", "python3", "pytest"}) {
    EXPECT_FALSE(read_line("msrun " + program + " -v a.py")->is_python_script) << program;
  }
  for (const std::string script : {"a.py", "train", "/usr/bin/python3"}) {
    EXPECT_TRUE(read_line("msrun " + script)->is_python_script) << script;
  }
  EXPECT_EQ(program_of("msrun --worker_num 8 python -u a.py --worker_num 3 --node_rank"),
            "python -u a.py --worker_num 3 --node_rank");
}

TEST(Msrun, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(error_of("msrun --worker-nums 8 a.py"), "64: unknown option '--worker-nums'; did you mean '--worker_num'?");
}

}  // namespace
}  // namespace muster
