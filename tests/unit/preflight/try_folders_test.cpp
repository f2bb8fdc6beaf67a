#include "preflight/try_folders.hpp"

#include "environment/fake_host.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace muster::preflight {
namespace {

TEST(TryFolders, LeavesNothingBehind) {
  const FakeHost folder;
  EXPECT_EQ(try_folders({{"log folder", folder.root()}}), "succeed");
  EXPECT_TRUE(std::filesystem::is_empty(folder.root()));
}

TEST(TryFolders, MakesNoFolder) {
  const FakeHost folder;
  EXPECT_EQ(try_folders({{"log folder", folder.root() + "/later"}}), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.root()));
}

TEST(TryFolders, NamesTheFolderThatTakesNoFile) {
  const FakeHost folder;
  EXPECT_EQ(try_folders({{"log folder", folder.root()}, {"state folder", "/proc"}}),
            "state folder: No such file or directory");
}

}  // namespace
}  // namespace muster::preflight
