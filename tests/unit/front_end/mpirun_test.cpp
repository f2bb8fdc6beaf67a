// The command line of Open MPI's mpirun.
#include "lines.hpp"
#include "requests.hpp"

#include <muster/mode/mpi_request.hpp>

#include <gtest/gtest.h>

namespace muster {
namespace {

/// What mpirun would be given, and what only it can do: "--tune f; --tune".
std::string request_of(const std::string& text, Variables variables = {}) {
  const auto line = read_line(text, std::move(variables));
  if (!line) {
    return line.error().message;
  }
  const auto request = read_mpi_request(line->settings);
  return request ? join(request->mpirun_options, " ") + "; " + request->only_mpirun.value
                 : request.error().message;
}

TEST(Mpirun, StartsSoManyProcessesHere) {
  EXPECT_EQ(
      settings_of("mpirun -np 4 ./a.out 1 2"),
      "mode=mpirun (mpirun); no-python=1 (default of mpirun); nproc-per-node=4 (-np); stdin=0 "
      "(default of mpirun)");
  EXPECT_EQ(program_of("mpirun -np 4 ./a.out -np 2"), "./a.out -np 2");
  for (const std::string count : {"-n 4",
                                  "--n 4",
                                  "-c 4",
                                  "--np 4",
                                  "--np=4",
                                  "-np 2 -n 4",
                                  "-npernode 4",
                                  "-N 4",
                                  "-map-by ppr:4:node",
                                  "-np 4 -N 8"}) {
    EXPECT_TRUE(setting_of("mpirun " + count + " a.out", "nproc-per-node").starts_with("4 (-"))
        << count;
  }
  EXPECT_EQ(setting_of("mpirun -pernode a.out", "nproc-per-node"), "1 (-pernode)");
  EXPECT_EQ(setting_of("mpirun a.out", "nproc-per-node"), "");
  EXPECT_EQ(error_of("mpirun -np x a.out"),
            "64: -np is 'x', expected a number of processes of at least 1");
}

TEST(Mpirun, TakesOptionsWithOneDashAndTwoValues) {
  EXPECT_EQ(program_of("mpirun -bind-to none -map-by slot -mca pml ob1 -mca btl ^openib a.out"),
            "a.out");
  EXPECT_EQ(error_of("mpirun -mca pml"), "64: -mca needs two values");
  EXPECT_EQ(error_of("mpirun -nosuch 1 a.out").substr(0, 28), "64: unknown option '-nosuch'");
}

TEST(Mpirun, GivesParametersToRanksAndToMpirun) {
  const std::string line = "mpirun -np 2 -mca btl self,tcp --gmca pml ob1 a.out";
  EXPECT_EQ(setting_of(line, "export:OMPI_MCA_btl"), "self,tcp (-mca btl)");
  EXPECT_EQ(setting_of(line, "export:OMPI_MCA_pml"), "ob1 (--gmca pml)");
  EXPECT_EQ(request_of(line), "-mca btl self,tcp --gmca pml ob1; ");
  EXPECT_EQ(notices_of("mpirun -mca plm_rsh_no_tree_spawn true a.out"),
            "ignoring -mca plm_rsh_no_tree_spawn: how daemons start is muster's");
  EXPECT_EQ(request_of("mpirun -mca plm_rsh_agent ssh a.out"), "; ");
}

TEST(Mpirun, KnowsWhatOnlyMpirunCanDo) {
  EXPECT_EQ(request_of("mpirun --tag-output --timeout 9 -x A=1 -np 2 a.out"),
            "--tag-output --timeout 9 -x A; --timeout");
  EXPECT_EQ(request_of("mpirun --map-by node a.out"), "--map-by node; --map-by");
  EXPECT_EQ(request_of("mpirun --bind-to none --map-by slot --report-bindings a.out"),
            "--bind-to none --map-by slot --report-bindings; ");
  EXPECT_EQ(request_of("mpirun --mpi-start pmix --timeout 9 a.out"),
            "--mpi-start is 'pmix', expected agent or ssh, since --timeout is for mpirun alone");
  EXPECT_EQ(setting_of("mpirun --bind-to core a.out", "numa-binding"), "exclusive (--bind-to)");
  EXPECT_EQ(setting_of("mpirun --output-filename d:nojobid a.out", "log-dir"),
            "d (--output-filename)");
}

TEST(Mpirun, ExportsVariablesByteForByte) {
  std::vector<std::string> words = {
      "mpirun", "-x", "A=1 ;'\"\n\\", "-x", "B", "-x", "C", "-x", "E=", "a.out"};
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  const auto line = read_command_line(argv, snapshot_of({{"B", "b c"}}));
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
  EXPECT_EQ(setting_of("mpirun --mca orte_default_hostfile f a.out", "hostfile"),
            "f (--mca orte_default_hostfile)");
  const Variables operators = {{"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"},
                               {"OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"}};
  EXPECT_EQ(setting_of("mpirun a.out", "hostfile", operators),
            "/etc/mpi/hostfile (OMPI_MCA_orte_default_hostfile)");
  EXPECT_EQ(setting_of("mpirun a.out", "remote-shell", operators),
            "ssh -o ConnectionAttempts=10 (OMPI_MCA_plm_rsh_args)");
  EXPECT_EQ(setting_of("mpirun a.out", "hostfile", {{"HYDRA_HOST_FILE", "/etc/mpi/hostfile"}}),
            "/etc/mpi/hostfile (HYDRA_HOST_FILE)");
  EXPECT_EQ(error_of("mpirun -H a:x a.out"),
            "64: -H is 'a:x', expected hosts such as a,b or a:8,b:8");
}

TEST(Mpirun, StaysHereForAListOfThisHost) {
  const std::string line = "mpirun -H localhost:4,node-a:2 -np 5 a.out";
  EXPECT_EQ(setting_of(line, "hosts"), "");
  EXPECT_EQ(setting_of(line, "nproc-per-node"), "5 (-np)");
  EXPECT_EQ(setting_of("mpirun -H localhost:4 a.out", "nproc-per-node"), "4 (-H)");
  EXPECT_EQ(error_of("mpirun -H localhost -np 2 a.out"),
            "64: -np is '2', expected at most 1, the slots of -H, or --oversubscribe");
  EXPECT_EQ(setting_of("mpirun -H localhost -np 2 --oversubscribe a.out", "nproc-per-node"),
            "2 (-np)");
}

TEST(Mpirun, CountsTheNodesThatAreThere) {
  const Variables started = {
      {"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(setting_of("mpirun -np 16 a.out", "total-workers", started), "16 (-np)");
  EXPECT_EQ(setting_of("mpirun -np 16 a.out", "nproc-per-node", started), "");
  EXPECT_EQ(notices_of("mpirun -H a,b a.out", started),
            "ignoring -H: bare starts muster on each node");
  EXPECT_EQ(setting_of("mpirun --nnodes 2 -np 16 a.out", "total-workers"), "16 (-np)");
}

TEST(Mpirun, TakesModelArtsNumberOfSlots) {
  EXPECT_EQ(setting_of("mpirun a.out", "nproc-per-node", {{"MY_MPI_SLOTS", "2"}}),
            "2 (MY_MPI_SLOTS)");
  EXPECT_EQ(setting_of("mpirun -np 4 a.out", "nproc-per-node", {{"MY_MPI_SLOTS", "2"}}), "4 (-np)");
  EXPECT_EQ(setting_of("muster --mode torchrun a.out", "nproc-per-node", {{"MY_MPI_SLOTS", "2"}}),
            "");
}

TEST(Mpirun, RefusesWhatWouldBeAnotherJob) {
  EXPECT_EQ(error_of("mpirun --do-not-launch a.out"),
            "64: --do-not-launch is refused: 'muster plan' says what would be started");
  EXPECT_EQ(error_of("mpirun -np 1 a.out : -np 2 b.out").substr(0, 38),
            "64: ':' begins another program of the ");
}

}  // namespace
}  // namespace muster
