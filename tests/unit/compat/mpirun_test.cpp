// The command line of Open MPI's mpirun.
#include "lines.hpp"
#include "modes/mpi_request.hpp"
#include "requests.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// The options passed to mpirun, and the first that only mpirun has: "--tune f; --tune".
std::string request_of(const std::string& text, Variables variables = {}) {
  const auto line = read_line(text, std::move(variables));
  if (!line) {
    return line.error().message;
  }
  const auto request = read_mpi_request(line->settings);
  if (const auto checked = check_method(*request); !checked) {
    return checked.error().message;
  }
  return request ? join(request->mpirun.options, " ") + "; " + request->mpirun.only_mpirun.value
                 : request.error().message;
}

TEST(Mpirun, StartsSoManyProcessesHere) {
  EXPECT_EQ(settings_of("mpirun -np 4 ./a.out 1 2"),
            "mode=mpirun (mpirun); no-python=1 (default of mpirun); nproc-per-node=4 (-np); stdin=0 "
            "(default of mpirun)");
  EXPECT_EQ(program_of("mpirun -np 4 ./a.out -np 2"), "./a.out -np 2");
  for (const std::string count : {"-n 4", "--n 4", "-c 4", "--np 4", "--np=4", "-np 2 -n 4", "-npernode 4", "-N 4",
                                  "-map-by ppr:4:node", "-np 4 -N 8"}) {
    EXPECT_TRUE(setting_of("mpirun " + count + " a.out", "nproc-per-node").starts_with("4 (-")) << count;
  }
  EXPECT_EQ(setting_of("mpirun -pernode a.out", "nproc-per-node"), "1 (-pernode)");
  EXPECT_EQ(setting_of("mpirun a.out", "nproc-per-node"), "");
  EXPECT_EQ(error_of("mpirun -np x a.out"), "64: -np is 'x', expected a number of processes of at least 1");
}

TEST(Mpirun, TakesOptionsWithOneDashAndTwoValues) {
  EXPECT_EQ(program_of("mpirun -bind-to none -map-by slot -mca pml ob1 -mca btl ^openib a.out"), "a.out");
  EXPECT_EQ(error_of("mpirun -mca pml"), "64: -mca needs two values");
  EXPECT_EQ(error_of("mpirun -nosuch 1 a.out").substr(0, 28), "64: unknown option '-nosuch'");
}

TEST(Mpirun, GivesParametersToRanksAndToMpirun) {
  const std::string line = "mpirun -np 2 -mca btl self,tcp --gmca pml ob1 a.out";
  EXPECT_EQ(setting_of(line, "export:OMPI_MCA_btl"), "self,tcp (-mca btl)");
  EXPECT_EQ(setting_of(line, "export:OMPI_MCA_pml"), "ob1 (--gmca pml)");
  EXPECT_EQ(request_of(line), "-mca btl self,tcp --gmca pml ob1; ");
  EXPECT_EQ(notices_of("mpirun -mca plm_rsh_no_tree_spawn true a.out"),
            "ignoring -mca plm_rsh_no_tree_spawn: muster itself decides how daemons start");
  EXPECT_EQ(request_of("mpirun -mca plm_rsh_agent ssh a.out"), "; ");
}

TEST(Mpirun, KnowsWhatOnlyMpirunCanDo) {
  EXPECT_EQ(request_of("mpirun --tag-output --timeout 9 -x A=1 -np 2 a.out"),
            "--tag-output --timeout 9 -x A; --timeout");
  EXPECT_EQ(request_of("mpirun --map-by node a.out"), "--map-by node; --map-by");
  EXPECT_EQ(request_of("mpirun --bind-to none --map-by slot --report-bindings a.out"),
            "--bind-to none --map-by slot --report-bindings; ");
  EXPECT_EQ(request_of("mpirun --mpi-start pmix --timeout 9 a.out"),
            "--mpi-start is 'pmix', expected agent or ssh, because only mpirun understands --timeout");
  EXPECT_EQ(setting_of("mpirun --bind-to core a.out", "numa-binding"), "exclusive (--bind-to)");
  EXPECT_EQ(setting_of("mpirun --output-filename d:nojobid a.out", "log-dir"), "d (--output-filename)");
}

TEST(Mpirun, LeavesPlacesAndBindingToMpirun) {
  const std::string line = "mpirun -np 4 --bind-to core --map-by socket:PE=2 -H a:4,b:4 a.out";
  EXPECT_EQ(request_of(line), "--bind-to core --map-by socket:PE=2; --map-by");
  EXPECT_EQ(setting_of(line, "dealt-by-mpirun"), "1 (--map-by)");
  EXPECT_EQ(setting_of(line, "mpirun-processes"), "4 (-np)");
  EXPECT_EQ(setting_of(line, "numa-binding"), "");
  EXPECT_EQ(setting_of("mpirun --mpi-start agent --bind-to core a.out", "numa-binding"), "");
  EXPECT_EQ(request_of("mpirun -np 2 -bynode -bind-to-core a.out"), "-bynode --bind-to core; -bynode");
  for (const std::string option :
       {"-rf f", "-npersocket 2", "--map-by ppr:2:socket", "--mca rmaps_base_mapping_policy node"}) {
    EXPECT_TRUE(setting_of("mpirun -np 2 " + option + " a.out", "dealt-by-mpirun").starts_with("1 (")) << option;
  }
  EXPECT_EQ(error_of("mpirun --map-by ppr:2:socket a.out"),
            "64: --map-by needs -np as well: muster does not see how many ranks it makes");
}

TEST(Mpirun, ReadsWhatStandsBehindAMapping) {
  const std::string own = "mpirun -H a:2,b:2 --map-by ppr:1:node:OVERSUBSCRIBE a.out";
  EXPECT_EQ(request_of(own), "; ");
  EXPECT_EQ(setting_of(own, "processes-per-host"), "1 (--map-by)");
  EXPECT_EQ(setting_of(own, "may-oversubscribe"), "1 (--map-by)");
  EXPECT_EQ(request_of("mpirun -np 9 --map-by :oversubscribe a.out"), "--map-by :oversubscribe; ");
  const std::string cores = "mpirun -H a:2,b:2 --map-by ppr:1:node:PE=6 a.out";
  EXPECT_EQ(request_of(cores), "--map-by ppr:1:node:PE=6; --map-by");
  EXPECT_EQ(setting_of(cores, "processes-per-host"), "1 (--map-by)");
  EXPECT_EQ(setting_of(cores, "dealt-by-mpirun"), "");
}

TEST(Mpirun, StartsRanksInAFolder) {
  EXPECT_EQ(setting_of("mpirun -wdir sub/./dir a.out", "program-folder"), "/home/user/job/sub/dir (-wdir)");
  EXPECT_EQ(request_of("mpirun --wd /data a.out"), "--wd /data; ");
}

TEST(Mpirun, GivesOtherProgramsToMpirun) {
  const std::string line = "mpirun -np 1 -H a:2,b:2 a.out 1 : -np 2 -x A=1 --mca btl self b.out 2 : -n 1 c";
  EXPECT_EQ(program_of(line), "a.out 1");
  EXPECT_EQ(setting_of(line, "mpirun-processes"), "1 (-np)");
  EXPECT_EQ(setting_of(line, "processes-of-hosts"), "4 (-np)");
  EXPECT_EQ(setting_of(line, "export:A"), "1 (-x A)");
  EXPECT_EQ(setting_of(line, "export:OMPI_MCA_btl"), "");
  const auto request = read_mpi_request(read_line(line)->settings);
  EXPECT_EQ(join(request->mpirun.programs, " "),
            ": -np 2 --mca btl self {muster} --mpi-rank b.out 2 : -np 1 {muster} --mpi-rank c");
  EXPECT_EQ(join(request->mpirun.options, " "), "-x A");
  EXPECT_EQ(setting_of(line, "only-mpirun"), "':' (':')");
  EXPECT_EQ(error_of("mpirun -np 1 a : b"),
            "64: 'b' has no number of processes, expected -np N for each program where there are "
            "several");
  EXPECT_EQ(error_of("mpirun a : -np 1 b").substr(0, 25), "64: the first program has");
  EXPECT_EQ(error_of("mpirun -np 1 a :"), "64: there is no program after ':'");
  EXPECT_EQ(error_of("mpirun -np 1 a : -np 1 -H b b").substr(0, 20), "64: -H is after ':',");
}

/// Lines of public projects, and what in them only mpirun can do.
// Sources: Horovod's documentation, NVIDIA/nccl-tests, microsoft/pai and mscclpp, MindSpore's models, ModelArts'
// run_mpi.sh, the MPI Operator's examples, SageMaker's training toolkit, scripts for HPL, OSU and CP2K.
TEST(Mpirun, ReadsLinesOfOthers) {
  constexpr std::pair<const char*, const char*> kLines[] = {
      {"mpirun -np 16 -H s1:4,s2:4,s3:4,s4:4 -bind-to none -map-by slot -x PATH -mca pml ob1 -mca "
       "btl "
       "^openib python train.py",
       ""},
      {"mpirun --allow-run-as-root -np 8 -H m-0:4,w-0:4 -bind-to none -map-by slot -mca pml ob1 "
       "-mca "
       "btl_tcp_if_exclude lo,docker0 -x PATH python bench.py --model resnet50",
       ""},
      {"mpirun --host a:8,b:8 -np 16 --allow-run-as-root --display-map --tag-output -mca "
       "oob_tcp_if_include eth0 -mca plm_rsh_no_tree_spawn 1 -mca orte_abort_on_non_zero_status 1 "
       "-x "
       "NCCL_DEBUG=INFO python -m mpi4py train.py",
       ""},
      {"mpirun -np 16 -N 8 --bind-to numa -H a:8,b:8 ./all_reduce_perf -b 8 -e 128M -f 2 -g 1", ""},
      {"mpirun --allow-run-as-root -np 16 --bind-to numa -H a:8,b:8 -x LD_LIBRARY_PATH=/b:/c "
       "-npernode 8 "
       "allgather_test_perf -b 1K",
       ""},
      {"mpirun --allow-run-as-root -n 8 --output-filename log_output --merge-stderr-to-stdout "
       "python "
       "train.py",
       "--merge-stderr-to-stdout"},
      {"mpirun -machinefile machines -npernode 16 -n 208 ./spdyn ./run.inp", ""},
      {"mpirun -np 2 --map-by ppr:1:node -H a:8,b:8 osu_latency D D", ""},
      {"mpirun --map-by ppr:28:socket:PE=1 --bind-to core --n 448 homme", "--map-by"},
      {"mpirun --map-by ppr:1:node:PE=6 --display-allocation --display-map true", "--map-by"},
      {"mpirun --map-by slot:PE=2 --bind-to core --report-bindings ./stencil 7 256", "--map-by"},
      {"mpirun --map-by socket:OVERSUBSCRIBE -np 8 ./hellompi", "--map-by"},
      {"mpirun --wdir /tmp --allow-run-as-root --oversubscribe -np 2 ./mpi_halo_exchange -n65536", ""},
      {"mpirun -hostfile hosts -np 1 command1 : -np 1 command2", "':'"},
      {"mpirun -np 4 xterm -e gdb ./a.out", ""},
      {"mpirun -np 8 java -cp /a:/b Rte model.xml", ""},
      {"mpirun -np 2 --report-bindings --bind-to hwthread ./a.out", "--bind-to"},
      {"mpirun -n 2 --enable-recovery -x A=1 python a.py", "--enable-recovery"},
      {"mpirun --use-hwthread-cpus -np 4 ./a.out", "--use-hwthread-cpus"},
      {"mpirun -rf ranks -np 2 ./a.out", "-rf"},
  };
  for (const auto& [line, only_mpirun] : kLines) {
    const std::string found = setting_of(line, "only-mpirun");
    EXPECT_EQ(found.substr(0, found.find(" (")), only_mpirun) << line;
    EXPECT_NE(program_of(line), "") << line;
  }
}

TEST(Mpirun, HasOtherNames) {
  for (const std::string name : {"mpiexec", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"}) {
    EXPECT_EQ(setting_of(name + " -n 2 a.out", "nproc-per-node"), "2 (-n)") << name;
  }
}

TEST(Mpirun, ExportsVariablesByteForByte) {
  std::vector<std::string> words = {"mpirun", "-x", "A=1 ;'\"\n\\", "-x", "B", "-x", "C", "-x", "E=", "a.out"};
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  const auto line = read_command_line(argv, snapshot_of({{"B", "b c"}}), no_files);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->settings.find("export:A")->value, "1 ;'\"\n\\");
  EXPECT_EQ(line->settings.find("export:B")->value, "b c");
  EXPECT_EQ(line->settings.find("export:E")->value, "");
  EXPECT_FALSE(line->settings.has("export:C"));
  EXPECT_EQ(join(line->notices, "; "), "ignoring -x C: there is no such variable here");
}

TEST(Mpirun, GoesToTheHostsOfAList) {
  const std::string line = "mpirun -np 3 --oversubscribe -H a,b:4,a a.out";
  EXPECT_EQ(setting_of(line, "hosts"), "a:2,b:4 (-H)");
  EXPECT_EQ(setting_of(line, "processes-of-hosts"), "3 (-np)");
  EXPECT_EQ(setting_of(line, "nproc-per-node"), "");
  EXPECT_EQ(setting_of("mpirun -machinefile f -N 2 a.out", "hostfile"), "f (-machinefile)");
  EXPECT_EQ(setting_of("mpirun -machinefile f -N 2 a.out", "processes-per-host"), "2 (-N)");
  EXPECT_EQ(setting_of("mpirun -hostfile f -H b:2 a.out", "hostfile"), "");
  EXPECT_EQ(setting_of("mpirun -hostfile f -H b:2 a.out", "hosts"), "b:2 (-H)");
  EXPECT_EQ(setting_of("mpirun --mca orte_default_hostfile f a.out", "hostfile"), "f (--mca orte_default_hostfile)");
  const Variables operators = {{"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"},
                               {"OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"}};
  EXPECT_EQ(setting_of("mpirun a.out", "hostfile", operators), "/etc/mpi/hostfile (OMPI_MCA_orte_default_hostfile)");
  EXPECT_EQ(setting_of("mpirun a.out", "remote-shell", operators),
            "ssh -o ConnectionAttempts=10 (OMPI_MCA_plm_rsh_args)");
  EXPECT_EQ(setting_of("mpirun -H n1:1,n2:1 -mca plm_rsh_args -p2222 a.out", "remote-shell", operators),
            "ssh -p2222 (-mca plm_rsh_args)");
  EXPECT_EQ(setting_of("mpirun -H n1:1,n2:1 --mca plm_rsh_agent blaunch a.out", "remote-shell"),
            "blaunch (--mca plm_rsh_agent)");
  EXPECT_EQ(setting_of("mpirun -H n1:1,n2:1 a.out", "remote-shell", {{"OMPI_MCA_plm_rsh_agent", "/opt/bin/ssh : rsh"}}),
            "/opt/bin/ssh (OMPI_MCA_plm_rsh_agent)");
  EXPECT_EQ(setting_of("mpirun -np 2 -mca plm_rsh_args -p2222 a.out", "remote-shell"), "");
  EXPECT_EQ(setting_of("mpirun a.out", "hostfile", {{"HYDRA_HOST_FILE", "/etc/mpi/hostfile"}}),
            "/etc/mpi/hostfile (HYDRA_HOST_FILE)");
  EXPECT_EQ(setting_of("mpirun a.out", "hostfile", {{"OMPI_MCA_orte_default_hostfile", ""}, {"HYDRA_HOST_FILE", "f"}}),
            "f (HYDRA_HOST_FILE)")
      << "an empty variable says nothing";
  EXPECT_EQ(error_of("mpirun -H a:x a.out"), "64: -H is 'a:x', expected a number of slots after 'a:', not 'x'");
  EXPECT_EQ(setting_of("mpirun -H fd00::1,fd00::2 a.out", "hosts"), "[fd00::1]:1,[fd00::2]:1 (-H)");
  EXPECT_EQ(setting_of("mpirun -H me@fd00::1 a.out", "hosts"), "me@[fd00::1]:1 (-H)");
  EXPECT_EQ(setting_of("mpirun -H a:0,b:6, a.out", "hosts"), "b:6 (-H)");
  EXPECT_EQ(error_of("mpirun -H a:0 a.out"), "64: -H is 'a:0', expected a host with a slot");
  EXPECT_EQ(error_of("mpirun -H ssh://a a.out"),
            "64: -H is 'ssh://a', expected hosts such as a:8,b:8, and 'ssh://a' is a URL");
}

TEST(Mpirun, StaysHereForAListOfThisHost) {
  const std::string line = "mpirun -H localhost:4,node-a:2 -np 5 a.out";
  EXPECT_EQ(setting_of(line, "hosts"), "");
  EXPECT_EQ(setting_of(line, "nproc-per-node"), "5 (-np)");
  EXPECT_EQ(setting_of("mpirun -H localhost:4 a.out", "nproc-per-node"), "4 (-H)");
  EXPECT_EQ(error_of("mpirun -H localhost -np 2 a.out"),
            "64: -np is '2', expected at most 1, the slots of -H, or --oversubscribe");
  EXPECT_EQ(setting_of("mpirun -H localhost -np 2 --oversubscribe a.out", "nproc-per-node"), "2 (-np)");
  for (const auto& [name, value] : {std::pair("OMPI_MCA_rmaps_base_oversubscribe", "1"),
                                    std::pair("OMPI_MCA_rmaps_base_mapping_policy", "slot:OVERSUBSCRIBE"),
                                    std::pair("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")}) {
    EXPECT_EQ(setting_of("mpirun -H localhost -np 2 a.out", "nproc-per-node", {{name, value}}), "2 (-np)");
  }
  EXPECT_EQ(error_of("mpirun -H localhost -np 2 a.out", {{"OMPI_MCA_rmaps_base_oversubscribe", "0"}}),
            "64: -np is '2', expected at most 1, the slots of -H, or --oversubscribe");
}

TEST(Mpirun, NamesVariablesThatAreIgnoredOnTheLineAsWell) {
  EXPECT_EQ(notices_of("mpirun -np 2 a.out", {{"OMPI_MCA_plm", "slurm"},
                                              {"OMPI_MCA_plm_rsh_agent", "ssh"},
                                              {"OMPI_MCA_btl", "self"},
                                              {"PRTE_MCA_prte_launch_agent", "x"}}),
            "ignoring OMPI_MCA_plm: muster itself decides how daemons start; "
            "ignoring PRTE_MCA_prte_launch_agent: muster itself decides how daemons start");
}

TEST(Mpirun, CountsTheNodesThatAreThere) {
  const Variables started = {{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(setting_of("mpirun -np 16 a.out", "total-workers", started), "16 (-np)");
  EXPECT_EQ(setting_of("mpirun -np 16 a.out", "nproc-per-node", started), "");
  EXPECT_EQ(notices_of("mpirun -H a,b a.out", started), "ignoring -H: bare starts muster on each node");
  EXPECT_EQ(error_of("mpirun -H localhost,b,c a.out", started),
            "64: -H is 'localhost,b,c' but RANK says that this is bare, which starts "
            "muster on each node; leave the list "
            "of hosts out, or if it is right, add --platform flags");
  // Volcano's MPI example: the master goes to the workers by ssh, and only it runs mpirun.
  const Variables volcano = {{"VC_TASK_INDEX", "0"},
                             {"VC_MPIMASTER_HOSTS", "job-mpimaster-0.job"},
                             {"VC_MPIMASTER_NUM", "1"},
                             {"VC_MPIWORKER_HOSTS", "job-mpiworker-0.job,job-mpiworker-1.job"},
                             {"VC_MPIWORKER_NUM", "2"}};
  EXPECT_EQ(setting_of("mpirun --host job-mpiworker-0.job,job-mpiworker-1.job -np 2 a.out", "hosts", volcano),
            "job-mpiworker-0.job:1,job-mpiworker-1.job:1 (--host)");
  EXPECT_EQ(setting_of("mpirun --nnodes 2 -np 16 a.out", "total-workers"), "16 (-np)");
}

TEST(Mpirun, TakesModelArtsNumberOfSlots) {
  EXPECT_EQ(setting_of("mpirun a.out", "nproc-per-node", {{"MY_MPI_SLOTS", "2"}}), "2 (MY_MPI_SLOTS)");
  EXPECT_EQ(setting_of("mpirun -np 4 a.out", "nproc-per-node", {{"MY_MPI_SLOTS", "2"}}), "4 (-np)");
  EXPECT_EQ(setting_of("muster --mode torchrun a.out", "nproc-per-node", {{"MY_MPI_SLOTS", "2"}}), "");
}

TEST(Mpirun, RefusesWhatWouldBeAnotherJob) {
  EXPECT_EQ(error_of("mpirun --do-not-launch a.out"),
            "64: --do-not-launch is refused: 'muster plan' prints what muster would start");
  EXPECT_EQ(error_of("mpirun -ppn 4 a.out").substr(0, 18), "64: -ppn is refuse");
  EXPECT_EQ(error_of("mpirun -genv A 1 -n 2 a.out").substr(0, 18), "64: -genv is refus");
  EXPECT_EQ(error_of("mpirun --tune /nosuch a.out"), "64: --tune is '/nosuch', expected a file that can be read");
  EXPECT_EQ(error_of("mpirun -H +n0 a.out"), "64: -H is '+n0', expected hosts such as a:8,b:8");
  EXPECT_EQ(error_of("mpirun a.out", {{"MUSTER_MPI_SHM", "/dev/shm/x"}}),
            "126: muster has started mpirun, but the mpirun in PATH leads back to muster; put "
            "the folder of Open MPI's mpirun in front");
}

}  // namespace
}  // namespace muster
