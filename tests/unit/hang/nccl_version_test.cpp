// The version of NCCL by the names of its files, and whether it is asked.
#include "hang/nccl_version.hpp"

#include <gtest/gtest.h>

namespace muster::hang {
namespace {

constexpr const char* kWheel = "/opt/venv/lib/python3.12/site-packages";
const std::string kLibrary = std::string(kWheel) + "/nvidia/nccl/lib/libnccl.so.2";

std::string version_of(const std::string& library, const std::vector<std::string>& names = {}) {
  return describe(nccl_version(library, names));
}

TEST(NcclVersion, FindsTheLibraryInTheMappings) {
  const std::string other = "7f00-7f01 r-xp 00000000 00:31 7    /usr/lib/libnccl-net.so.1\n7f01-7f02 rw-p 0 00:00 0\n";
  const std::string ours = "7f02-7f03 r--p 00000000 00:31 8     " + kLibrary + "\n";
  EXPECT_EQ(find_nccl(other + ours + "7f03-7f04 r-xp 00001000 00:31 8     " + kLibrary), kLibrary);
  EXPECT_EQ(find_nccl(other), "");
  EXPECT_EQ(find_nccl(ours + "7f05-7f06 r--p 0 00:31 9 /usr/lib/libnccl.so.2.18.1\n"), "") << "two of them";
}

TEST(NcclVersion, IsThatOfTheWheelBesideTheLibrary) {
  EXPECT_EQ(wheel_folder(kLibrary), kWheel);
  EXPECT_EQ(version_of(kLibrary, {"torch", "nvidia_nccl_cu12-2.27.3.dist-info", "nvidia_cudnn_cu12-9.1.0.dist-info"}),
            "NCCL 2.27.3");
  EXPECT_EQ(version_of(kLibrary, {"nvidia_nccl_cu13-2.28.9.1.dist-info"}), "NCCL 2.28.9");
}

TEST(NcclVersion, IsThatInTheNameOfAPackagesLibrary) {
  EXPECT_EQ(version_of("/usr/lib/x86_64-linux-gnu/libnccl.so.2.27.7"), "NCCL 2.27.7");
  EXPECT_EQ(wheel_folder("/usr/lib/x86_64-linux-gnu/libnccl.so.2.27.7"), "");
}

TEST(NcclVersion, IsNotKnownWhereNamesLeaveADoubt) {
  const std::vector<std::string> wheel{"nvidia_nccl_cu12-2.30.1.dist-info"};
  EXPECT_EQ(version_of("", wheel), "NCCL");
  EXPECT_EQ(version_of("/opt/lib/libnccl.so.2", wheel), "NCCL") << "of no wheel";
  EXPECT_EQ(version_of(kLibrary + " (deleted)", wheel), "NCCL") << "the wheel is a later one";
  EXPECT_EQ(version_of(kLibrary, {wheel[0], "nvidia_nccl_cu11-2.21.5.dist-info"}), "NCCL") << "of either wheel";
  EXPECT_EQ(version_of(kLibrary, {"nvidia_nccl_cu12-2.x.dist-info", "nvidia_nccl_cu12-2.30.1"}), "NCCL");
}

std::string why_not(const std::string& version, bool is_confirmed = false) {
  return why_not_asked(parse_nccl_version(version), is_confirmed);
}

TEST(NcclVersion, IsAskedWhereNoFaultIsKnown) {
  for (const char* const version : {"2.29.2", "2.29.6"}) {
    EXPECT_EQ(why_not(version), "");
  }
}

TEST(NcclVersion, IsAskedInSpiteOfAFaultWhereAPersonConfirmsIt) {
  EXPECT_EQ(why_not("2.28.9"),
            "NCCL 2.28.9 is not asked: it reads wrong memory if a rank is missing (NVIDIA/nccl#1762); 'muster stacks "
            "--ask-nccl=yes' asks it all the same");
  EXPECT_EQ(why_not(""),
            "NCCL is not asked: its version is not known, and some crash when they are asked; 'muster stacks "
            "--ask-nccl=yes' asks it all the same");
  for (const char* const version : {"2.28.7", "2.29.1", "2.29.7", "2.30.7", "3.0.1", ""}) {
    EXPECT_NE(why_not(version), "") << version;
    EXPECT_EQ(why_not(version, /*is_confirmed=*/true), "") << version;
  }
}

TEST(NcclVersion, IsNeverAskedWithoutJson) {
  for (const char* const version : {"2.24.3", "2.26.5", "2.27.3", "2.28.6"}) {
    EXPECT_EQ(why_not(version, /*is_confirmed=*/true),
              "NCCL " + std::string(version) + " is not asked: it cannot answer in JSON, as NCCL 2.28.7 and later do");
  }
}

}  // namespace
}  // namespace muster::hang
