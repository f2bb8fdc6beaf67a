// The command line of horovodrun, and its configuration file.
#include "lines.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// The settings that a line has where "c.yaml" holds this text, or the error.
Result<CommandLine> read_with(const std::string& options, const std::string& configuration) {
  return read_line(
      "horovodrun " + options + " --config-file c.yaml ./train", snapshot_of({}),
      [&](const std::string& path) { return path == "c.yaml" ? std::optional(configuration) : std::nullopt; });
}

std::string exported(const std::string& options, const std::string& configuration, const std::string& name) {
  const auto line = read_with(options, configuration);
  if (!line) {
    return line.error().message;
  }
  const auto setting = line->settings.find("export:" + name);
  return setting ? setting->value + " (" + setting->source.name + ")" : "";
}

std::string export_of(const std::string& options, const std::string& name) {
  return setting_of("horovodrun " + options + " ./train", "export:" + name);
}

TEST(Horovodrun, StartsAllRanksHere) {
  EXPECT_EQ(setting_of("horovodrun -np 4 python train.py", "mode"), "mpirun (horovodrun)");
  EXPECT_EQ(setting_of("horovodrun -np 4 python train.py", "nproc-per-node"), "4 (-np)");
  EXPECT_EQ(setting_of("horovodrun --num-proc 4 a", "nproc-per-node"), "4 (--num-proc)");
  EXPECT_EQ(program_of("horovodrun -np 2 python train.py -np 3"), "python train.py -np 3");
  EXPECT_EQ(error_of("horovodrun -np 0 a"), "64: -np is '0', expected a number of processes of at least 1");
}

TEST(Horovodrun, GoesToHosts) {
  const std::string line = "horovodrun -np 6 -H a:4,b:4 -p 2222 -i key ./train";
  EXPECT_EQ(setting_of(line, "hosts"), "a:4,b:4 (--hosts)");
  EXPECT_EQ(setting_of(line, "processes-of-hosts"), "6 (-np)");
  EXPECT_EQ(setting_of(line, "remote-shell"), "ssh -p 2222 -i \"key\" (--ssh-port)");
  EXPECT_EQ(setting_of("horovodrun -np 6 -hostfile pool a", "hostfile"), "pool (-hostfile)");
  EXPECT_EQ(setting_of("horovodrun -np 6 --hostfile pool a", "hostfile"), "pool (--hostfile)");
  EXPECT_EQ(error_of("horovodrun -H a:x ./train"),
            "64: --hosts is 'a:x', expected a number of slots after 'a:', not 'x'");
  EXPECT_EQ(error_of("horovodrun -H a:1 --hostfile pool ./train"),
            "64: --hosts and --hostfile contradict each other: leave one of them out");
}

TEST(Horovodrun, TakesAListOfThisMachineForNoList) {
  EXPECT_EQ(setting_of("horovodrun -np 2 -H localhost:4 a", "hosts"), "");
  EXPECT_EQ(setting_of("horovodrun -np 2 -H localhost:4 a", "nproc-per-node"), "2 (-np)");
  EXPECT_EQ(setting_of("horovodrun -H localhost:4 a", "nproc-per-node"), "4 (--hosts)");
  EXPECT_EQ(error_of("horovodrun -np 8 -H localhost:4 a"),
            "64: -np is '8', expected at most 4, the slots of --hosts, or --oversubscribe");
}

TEST(Horovodrun, CountsTheRanksOfAllNodesWhereEachIsStarted) {
  const Variables started = {{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(setting_of("horovodrun -np 8 -H a:4,b:4 ./train", "total-workers", started), "8 (-np)");
  EXPECT_EQ(notices_of("horovodrun -np 8 -H a:4,b:4 ./train", started),
            "ignoring --hosts: bare starts muster on each node");
}

TEST(Horovodrun, ExportsOptionsToTheRanksAsVariables) {
  EXPECT_EQ(export_of("--fusion-threshold-mb 64", "HOROVOD_FUSION_THRESHOLD"), "67108864 (--fusion-threshold-mb)");
  EXPECT_EQ(export_of("--fusion-threshold-mb 8192", "HOROVOD_FUSION_THRESHOLD"), "8589934592 (--fusion-threshold-mb)");
  EXPECT_EQ(export_of("--cycle-time-ms 3.5", "HOROVOD_CYCLE_TIME"), "3.5 (--cycle-time-ms)");
  EXPECT_EQ(export_of("--hierarchical-allreduce", "HOROVOD_HIERARCHICAL_ALLREDUCE"), "1 (--hierarchical-allreduce)");
  EXPECT_EQ(export_of("--no-hierarchical-allreduce", "HOROVOD_HIERARCHICAL_ALLREDUCE"),
            "0 (--no-hierarchical-allreduce)");
  EXPECT_EQ(export_of("--stall-check", "HOROVOD_STALL_CHECK_DISABLE"), "0 (--stall-check)");
  EXPECT_EQ(export_of("--log-hide-timestamp", "HOROVOD_LOG_HIDE_TIME"), "1 (--log-hide-timestamp)");
  EXPECT_EQ(export_of("--tcp", "NCCL_IB_DISABLE"), "1 (--tcp)");
  EXPECT_EQ(export_of("--log-level DEBUG", "HOROVOD_LOG_LEVEL"), "DEBUG (--log-level)");
  EXPECT_EQ(error_of("horovodrun --log-level debug a"),
            "64: --log-level is 'debug', expected one of TRACE, DEBUG, INFO, WARNING, ERROR, FATAL");
}

TEST(Horovodrun, OmitsOptionsWithoutEffectAlone) {
  EXPECT_EQ(export_of("--autotune-warmup-samples 5", "HOROVOD_AUTOTUNE_WARMUP_SAMPLES"), "");
  EXPECT_EQ(export_of("--autotune --autotune-warmup-samples 5", "HOROVOD_AUTOTUNE_WARMUP_SAMPLES"),
            "5 (--autotune-warmup-samples)");
  EXPECT_EQ(export_of("--no-autotune", "HOROVOD_AUTOTUNE"), "");
  EXPECT_EQ(export_of("--timeline-mark-cycles", "HOROVOD_TIMELINE_MARK_CYCLES"), "");
  EXPECT_EQ(export_of("--timeline-filename t --timeline-mark-cycles", "HOROVOD_TIMELINE_MARK_CYCLES"),
            "1 (--timeline-mark-cycles)");
}

TEST(Horovodrun, RefusesValuesThatAreNone) {
  EXPECT_EQ(error_of("horovodrun --cache-capacity -1 a"),
            "64: --cache-capacity is '-1', expected an integer of at least 0");
  EXPECT_EQ(error_of("horovodrun --cycle-time-ms x a"), "64: --cycle-time-ms is 'x', expected a number of at least 0");
  EXPECT_EQ(error_of("horovodrun --autotune-gaussian-process-noise 2 a"),
            "64: --autotune-gaussian-process-noise is '2', expected a number from 0 to 1");
  EXPECT_EQ(error_of("horovodrun --stall-check --no-stall-check a"),
            "64: --no-stall-check and --stall-check contradict each other: leave one of them out");
}

TEST(Horovodrun, NamesInterfaces) {
  const std::string line = "--network-interfaces eth1,eth0 --network-interface eth0";
  EXPECT_EQ(export_of(line, "NCCL_SOCKET_IFNAME"), "eth1,eth0 (--network-interface)");
  EXPECT_EQ(export_of(line, "OMPI_MCA_btl_tcp_if_include"), "eth1,eth0 (--network-interface)");
}

TEST(Horovodrun, ReadsItsConfigurationBehindTheFlags) {
  const std::string text =
      "params:\n  fusion_threshold_mb: 32\n  hierarchical_allreduce: true\n"
      "autotune:\n  enabled: True\n  log_file: tune.csv\n"
      "stall_check:\n  enabled: false\n  warning_time_seconds: 120\n"
      "logging:\n  level: INFO\n  with_timestamp: no\n";
  EXPECT_EQ(exported("", text, "HOROVOD_FUSION_THRESHOLD"), "33554432 (c.yaml params.fusion_threshold_mb)");
  EXPECT_EQ(exported("--fusion-threshold-mb 1", text, "HOROVOD_FUSION_THRESHOLD"), "1048576 (--fusion-threshold-mb)");
  EXPECT_EQ(exported("", text, "HOROVOD_HIERARCHICAL_ALLREDUCE"), "1 (c.yaml params.hierarchical_allreduce)");
  EXPECT_EQ(exported("--no-hierarchical-allreduce", text, "HOROVOD_HIERARCHICAL_ALLREDUCE"),
            "0 (--no-hierarchical-allreduce)");
  EXPECT_EQ(exported("", text, "HOROVOD_AUTOTUNE_LOG"), "tune.csv (c.yaml autotune.log_file)");
  EXPECT_EQ(exported("--no-autotune", text, "HOROVOD_AUTOTUNE_LOG"), "");
  EXPECT_EQ(exported("", text, "HOROVOD_STALL_CHECK_DISABLE"), "1 (c.yaml stall_check.enabled)");
  EXPECT_EQ(exported("", text, "HOROVOD_STALL_CHECK_TIME_SECONDS"), "120 (c.yaml stall_check.warning_time_seconds)");
  EXPECT_EQ(exported("", text, "HOROVOD_LOG_HIDE_TIME"), "1 (c.yaml logging.with_timestamp)");
}

TEST(Horovodrun, ChecksForStallsWhereItsConfigurationSpeaksOfThem) {
  const std::string text = "stall_check:\n  warning_time_seconds: 120\n";
  EXPECT_EQ(exported("", text, "HOROVOD_STALL_CHECK_DISABLE"), "0 (c.yaml stall_check)");
  EXPECT_EQ(exported("--no-stall-check", text, "HOROVOD_STALL_CHECK_DISABLE"), "1 (--no-stall-check)");
  EXPECT_EQ(exported("", "stall_check: {}", "HOROVOD_STALL_CHECK_DISABLE"), "");
}

TEST(Horovodrun, TakesTheControllerOfItsConfiguration) {
  EXPECT_EQ(read_with("", "controller: MPI")->settings.find("mode")->value, "mpirun");
  EXPECT_EQ(read_with("--mpi", "controller: gloo")->settings.find("mode")->value, "mpirun");
  EXPECT_EQ(exported("", "controller: gloo", ""),
            "c.yaml controller is 'gloo', expected mpi: muster starts Horovod's ranks as ranks of MPI");
}

TEST(Horovodrun, NamesErrorsOfItsConfiguration) {
  EXPECT_EQ(error_of("horovodrun --config-file c.yaml a"),
            "64: --config-file is 'c.yaml', expected a YAML or JSON file that can be read");
  EXPECT_EQ(exported("", "[]", ""), "c.yaml: expected keys and values of horovodrun's configuration");
  EXPECT_EQ(exported("", "params: 3", ""), "c.yaml params: expected keys and values of horovodrun's configuration");
  EXPECT_EQ(exported("", "params:\n  cache_capacity: many", ""),
            "c.yaml params.cache_capacity is 'many', expected an integer of at least 0");
  EXPECT_EQ(join(read_with("", "params:\n  cache: 1")->notices, "; "),
            "ignoring c.yaml params.cache: horovodrun has no such key");
}

TEST(Horovodrun, IsALineOfMpirun) {
  const std::string line = "horovodrun --mpi -np 4 -H a:2,b:2 --tcp --mpi-args=--map-by=core ./train";
  EXPECT_EQ(setting_of(line, "mode"), "mpirun (horovodrun)");
  EXPECT_EQ(setting_of(line, "hosts"), "a:2,b:2 (--hosts)");
  EXPECT_EQ(setting_of(line, "processes-of-hosts"), "4 (-np)");
  EXPECT_EQ(setting_of(line, "export:NCCL_IB_DISABLE"), "1 (--tcp)");
  EXPECT_EQ(setting_of(line, "mpirun-words"),
            "\"--bind-to\" \"none\" \"--mca\" \"pml\" \"ob1\" \"--mca\" \"btl\" \"^openib\" "
            "\"--map-by\" \"core\" (mpirun)");
  EXPECT_EQ(setting_of("horovodrun -np 2 --binding-args=--rankfile=f a", "only-mpirun"), "--rankfile (--rankfile)");
  EXPECT_EQ(error_of("horovodrun -np 2 --mpi-args=./train a"),
            "64: --mpi-args is './train', expected options of mpirun and no program");
  EXPECT_EQ(error_of("horovodrun -np 2 --binding-args=./train a"),
            "64: --binding-args is './train', expected options of mpirun and no program");
  EXPECT_EQ(error_of("horovodrun --gloo a"),
            "64: --gloo is refused: muster starts Horovod's ranks as ranks of MPI, in mode mpirun; leave this option "
            "out, and use a Horovod that is built with MPI");
}

TEST(Horovodrun, AddsMpiOptionsThatTheUserOmits) {
  const std::string line = "horovodrun -np 2 ";
  EXPECT_EQ(setting_of(line + "a", "export:OMPI_MCA_pml"), "ob1 (--mca pml)");
  EXPECT_EQ(setting_of(line + "a", "export:OMPI_MCA_btl"), "^openib (--mca btl)");
  EXPECT_EQ(setting_of(line + "a", "only-mpirun"), "");
  const std::string ucx = line + "--mpi-args=-mca\tpml\tucx a";
  EXPECT_EQ(setting_of(ucx, "export:OMPI_MCA_pml"), "ucx (-mca pml)");
  EXPECT_EQ(setting_of(ucx, "export:OMPI_MCA_btl"), "^openib (--mca btl)");
  EXPECT_EQ(setting_of(line + "--binding-args=--rankfile=f a", "mpirun-words"),
            "\"--mca\" \"pml\" \"ob1\" \"--mca\" \"btl\" \"^openib\" \"--rankfile\" \"f\" (mpirun)");
}

TEST(Horovodrun, ReadsNamesBehindOneDash) {
  EXPECT_EQ(setting_of("horovodrun --hostf pool a", "hostfile"), "pool (--hostf)");
  EXPECT_EQ(error_of("horovodrun --np 2 a").substr(0, 25), "64: unknown option '--np'");
}

TEST(Horovodrun, WaitsForTheStartTimeout) {
  EXPECT_EQ(setting_of("horovodrun --start-timeout 60 a", "gang-timeout"), "60 (--start-timeout)");
  EXPECT_EQ(setting_of("horovodrun a", "gang-timeout", {{"HOROVOD_START_TIMEOUT", "90"}}),
            "90 (HOROVOD_START_TIMEOUT)");
}

TEST(Horovodrun, NamesWhatStandsForElasticJobs) {
  for (const std::string option : {"--min-np", "--min-num-proc", "--host-discovery-script"}) {
    EXPECT_EQ(error_of("horovodrun -np 4 " + option + " 2 a"),
              "64: " + option +
                  " is refused: muster starts no elastic Horovod; --nnodes MIN:MAX with "
                  "--max-restarts starts the job again with the nodes that are there");
  }
  EXPECT_EQ(
      notices_of("horovodrun --max-np 4 --blacklist-cooldown-range 1 2 a"),
      "ignoring --max-np: this option is for elastic jobs only; ignoring --blacklist-cooldown-range: this option is "
      "for elastic jobs only");
}

TEST(Horovodrun, TakesVariablesInFrontOfTheProgram) {
  const std::string line = "horovodrun --mpi -n 2 PYTHONPATH=.. A_1=b=c python a.py X=y";
  EXPECT_EQ(program_of(line), "python a.py X=y");
  EXPECT_EQ(setting_of(line, "export:PYTHONPATH"), ".. (PYTHONPATH)");
  EXPECT_EQ(setting_of(line, "export:A_1"), "b=c (A_1)");
  EXPECT_EQ(setting_of(line, "processes-of-hosts") + setting_of(line, "nproc-per-node"), "2 (--num-proc)");
  EXPECT_EQ(program_of("horovodrun -np 2 ./1=a b=c"), "./1=a b=c");
}

TEST(Horovodrun, LeavesOutVariablesOfAnotherStart) {
  const Variables left = {{"WORLD_SIZE", "4"}, {"RANK", "0"}, {"MASTER_ADDR", "localhost"}};
  EXPECT_EQ(setting_of("horovodrun -np 2 a", "platform", left), "single (horovodrun, which does not read RANK)");
  EXPECT_EQ(setting_of("horovodrun -np 2 -H localhost:2 a", "platform", {{"WORLD_SIZE", "2"}}),
            "single (horovodrun, which does not read WORLD_SIZE)");
  EXPECT_EQ(setting_of("horovodrun -np 2 -H a:1,b:1 a", "platform", left), "");
}

TEST(Horovodrun, LeavesTextsToTheOriginal) {
  EXPECT_EQ(setting_of("horovodrun -v", "version"), "1 (--version)");
  EXPECT_EQ(error_of("horovodrun -cb"),
            "64: -cb is refused: this option starts no job; horovodrun itself prints how Horovod was built");
}

}  // namespace
}  // namespace muster
