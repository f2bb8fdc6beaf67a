// Variables that mpirun is told to export to its ranks.
#include "modes/agent_call.hpp"

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

using Words = std::vector<std::string>;

TEST(Exports, AreTheUsersVariablesByName) {
  EXPECT_EQ(exports_of({{"AWS_SECRET_ACCESS_KEY", "s3cret"}, {"EMPTY", ""}, {"lines", "a\nb"}}),
            (Words{"-x", "AWS_SECRET_ACCESS_KEY", "-x", "EMPTY", "-x", "lines"}));
}

TEST(Exports, OmitVariablesOfOneNodeOrOfMpirun) {
  EXPECT_EQ(exports_of({{"HOSTNAME", "a"},
                        {"PATH", "/bin"},
                        {"TMPDIR", "/tmp"},
                        {"OMPI_MCA_btl", "self"},
                        {"PMIX_RANK", "0"},
                        {"MUSTER_JOB_MARKER", "1"},
                        {"", "x"}}),
            Words());
}

TEST(Exports, HaveNamesThatAShellPassesOn) {
  const std::map<std::string, std::string> odd{
      {"0", "a"}, {"BASH_FUNC_f%%", "() { :; }"}, {"T.dot_", "b"}, {"f\xc3\xbcr", "c"}};
  auto packed = with_shell_names(odd);
  EXPECT_EQ(exports_of(odd), (Words{"-x", "MUSTER_MPI_NAME_0", "-x", "MUSTER_MPI_NAME_BASH_5fFUNC_5ff_25_25", "-x",
                                    "MUSTER_MPI_NAME_T_2edot_5f", "-x", "MUSTER_MPI_NAME_f_c3_bcr"}));
  EXPECT_EQ(packed.at("MUSTER_MPI_NAME_T_2edot_5f"), "b");

  packed.emplace("PLAIN", "1");
  packed.emplace("MUSTER_MPI_NAME__x", "none of ours");
  restore_names(packed);

  EXPECT_EQ(packed.size(), odd.size() + 1);
  EXPECT_EQ(packed.at("T.dot_"), "b");
  EXPECT_EQ(packed.at("BASH_FUNC_f%%"), "() { :; }");
}

}  // namespace
}  // namespace muster::mpi
