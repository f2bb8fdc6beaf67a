// What mpirun is told to take along.
#include <muster/mpi/exports.hpp>

#include <gtest/gtest.h>

namespace muster::mpi {
namespace {

using Words = std::vector<std::string>;

TEST(Exports, AreTheUsersVariablesByName) {
  EXPECT_EQ(exports_of({{"AWS_SECRET_ACCESS_KEY", "s3cret"}, {"EMPTY", ""}, {"lines", "a\nb"}}),
            (Words{"-x", "AWS_SECRET_ACCESS_KEY", "-x", "EMPTY", "-x", "lines"}));
}

TEST(Exports, LeaveOutWhatIsOfOneNodeOrOfMpirun) {
  EXPECT_EQ(exports_of({{"HOSTNAME", "a"},
                        {"PATH", "/bin"},
                        {"TMPDIR", "/tmp"},
                        {"OMPI_MCA_btl", "self"},
                        {"PMIX_RANK", "0"},
                        {"MUSTER_JOB_MARKER", "1"},
                        {"BASH_FUNC_x%%", "() { :; }"},
                        {"0", "x"},
                        {"", "x"}}),
            Words());
}

}  // namespace
}  // namespace muster::mpi
