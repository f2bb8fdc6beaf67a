// Following real symbolic links: to a file, to a missing file, and in a circle.
#include "base/file_io.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace muster {
namespace {

namespace fs = std::filesystem;

class FollowLinks : public ::testing::Test {
 protected:
  FollowLinks() {
    std::string name = ::testing::TempDir() + "links_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(folder_ / "sub");
  }
  ~FollowLinks() override { fs::remove_all(folder_); }

  /// Below the folder, with what is before and behind dots taken away.
  std::string end_of(const std::string& name) const {
    std::error_code failed;
    const fs::path end = follow_links(folder_ / name, failed);
    return failed ? failed.message() : end.lexically_normal().lexically_relative(folder_).string();
  }

  fs::path folder_;
};

TEST_F(FollowLinks, LeavesPathsThatAreNoLinks) {
  std::ofstream(folder_ / "file") << "text";
  EXPECT_EQ(end_of("file"), "file");
  EXPECT_EQ(end_of("missing"), "missing");
  EXPECT_EQ(end_of("nowhere/missing"), "nowhere/missing");
  std::error_code failed;
  EXPECT_EQ(follow_links("missing", failed), "missing");
}

TEST_F(FollowLinks, FollowsAChainToAMissingFile) {
  fs::create_symlink("sub/second", folder_ / "first");
  fs::create_symlink("../third", folder_ / "sub" / "second");
  fs::create_symlink(folder_ / "sub" / "target", folder_ / "third");
  EXPECT_EQ(end_of("first"), "sub/target");
}

TEST_F(FollowLinks, FailsInACircle) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_EQ(end_of("a"), "Too many levels of symbolic links");
}

}  // namespace
}  // namespace muster
