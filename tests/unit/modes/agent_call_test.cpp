#include "modes/agent_call.hpp"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

using Words = std::vector<std::string>;

TEST(AgentCall, JoinsTheWordsBehindTheHost) {
  const auto call = parse_agent_call({"10.77.0.3", " orted", "-mca", "ess", "\"env\"", "--tree-spawn"});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->host, "10.77.0.3");
  EXPECT_EQ(call->command, "exec orted -mca ess \"env\" --tree-spawn");
}

TEST(AgentCall, SkipsTheOptionsOfSsh) {
  for (const Words& options :
       {Words{"-x"}, Words{"-p", "36666"}, Words{"-p36666", "-q"},
        Words{"-vp", "22", "-o", "StrictHostKeyChecking=no", "-i", "key"}, Words{"-l", "user", "-4"}}) {
    Words words = options;
    words.insert(words.end(), {"user@w-1.job", "/usr/bin/hydra_pmi_proxy", "--proxy-id", "1"});
    const auto call = parse_agent_call(words);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->host, "w-1.job");
    EXPECT_EQ(call->command, "exec /usr/bin/hydra_pmi_proxy --proxy-id 1");
  }
}

TEST(AgentCall, LeavesCommandsOfSeveralProgramsToTheShell) {
  for (const std::string command : {"PATH=/usr/bin:$PATH ; export PATH ; /usr/bin/orted",
                                    "( test ! -r ./.profile || . ./.profile; orted)", "\"/opt/my mpi/orted\" -mca"}) {
    const auto call = parse_agent_call({"host", command, "-x"});
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->command, command + " -x");
  }
}

TEST(AgentCall, NeedsAHostAndACommand) {
  for (const Words& words : {Words{}, Words{"-p"}, Words{"host"}, Words{"-p", "22", "host"}}) {
    EXPECT_FALSE(parse_agent_call(words));
  }
}

TEST(RankEnvironment, HasTheNamesOfTorchrunAndHorovodAndNoSecret) {
  const auto variables = environment_of_mpi_rank({{"OMPI_COMM_WORLD_RANK", "3"},
                                                  {"OMPI_COMM_WORLD_SIZE", "4"},
                                                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                                  {"RANK", "0"},
                                                  {"TEXT", "a b;\n"},
                                                  {variable::kSecret, "s"},
                                                  {variable::kEndpoint, "e"},
                                                  {variable::kDaemons, "d"},
                                                  {variable::kHostfile, "h"},
                                                  {variable::kShared, "/dev/shm/x"},
                                                  {variable::kInterfaces, "eth0"}});
  EXPECT_EQ(variables, (std::map<std::string, std::string>{{"OMPI_COMM_WORLD_RANK", "3"},
                                                           {"OMPI_COMM_WORLD_SIZE", "4"},
                                                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                                           {"RANK", "3"},
                                                           {"WORLD_SIZE", "4"},
                                                           {"LOCAL_RANK", "1"},
                                                           {"LOCAL_WORLD_SIZE", "2"},
                                                           {"HOROVOD_RANK", "3"},
                                                           {"HOROVOD_SIZE", "4"},
                                                           {"HOROVOD_LOCAL_RANK", "1"},
                                                           {"HOROVOD_LOCAL_SIZE", "2"},
                                                           {"HOROVOD_CONTROLLER", "mpi"},
                                                           {"HOROVOD_MPI_THREADS_DISABLE", "1"},
                                                           {"OMPI_MCA_btl_tcp_if_include", "eth0"},
                                                           {"OMPI_MCA_btl_vader_backing_directory", "/dev/shm/x"},
                                                           {"OMPI_MCA_btl_sm_backing_directory", "/dev/shm/x"},
                                                           {"TEXT", "a b;\n"}}));
}

TEST(RankEnvironment, HasTheInterfacesOfItsNodeUnlessTheUserNamesOthers) {
  const char* const name = "OMPI_MCA_btl_tcp_if_include";
  const auto chosen = environment_of_mpi_rank({{variable::kInterfaces, "10.0.0.0/30"}, {name, "ib0"}});
  EXPECT_EQ(chosen.at(name), "ib0");
  EXPECT_FALSE(environment_of_mpi_rank({{variable::kInterfaces, ""}}).contains(name));
  EXPECT_FALSE(
      environment_of_mpi_rank({{variable::kInterfaces, "10.0.0.0/30"}, {"OMPI_MCA_btl_tcp_if_exclude", "docker0"}})
          .contains(name));
}

TEST(AgentCall, ExportsTheLocationOfMpiToTheRank) {
  EXPECT_EQ(environment_of_mpi_rank({{"PMIX_INSTALL_PREFIX", "/opt/mpi"}})["OPAL_PREFIX"], "/opt/mpi");
  EXPECT_EQ(environment_of_mpi_rank({{"PMIX_INSTALL_PREFIX", "/opt/mpi"}, {"OPAL_PREFIX", "/a"}})["OPAL_PREFIX"], "/a");
  EXPECT_EQ(environment_of_mpi_rank({}).count("OPAL_PREFIX"), 0U);
}

}  // namespace
}  // namespace muster::mpi
