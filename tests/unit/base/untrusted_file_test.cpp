// Untrusted paths are read only where they are regular files. The tests use real files.
#include "base/file_io.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace muster {
namespace {

namespace fs = std::filesystem;

class ReadUntrustedFile : public ::testing::Test {
 protected:
  ReadUntrustedFile() {
    std::string name = ::testing::TempDir() + "untrusted_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    std::ofstream(folder_ / "file") << std::string("a\0b\n", 4);
  }
  ~ReadUntrustedFile() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(ReadUntrustedFile, GivesItsBytes) {
  EXPECT_EQ(read_untrusted_file(folder_ / "file", 100), std::string("a\0b\n", 4));
}

TEST_F(ReadUntrustedFile, GivesNoMoreThanItsLimit) {
  EXPECT_EQ(read_untrusted_file(folder_ / "file", 1), "a");
}

TEST_F(ReadUntrustedFile, ReadsNothingFromAPathThatIsNoRegularFile) {
  fs::create_symlink("file", folder_ / "link");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const fs::path& path : {folder_ / "none", folder_ / "link", folder_ / "pipe", folder_, fs::path("/dev/zero")}) {
    EXPECT_EQ(read_untrusted_file(path, 100), "") << path;
  }
}

}  // namespace
}  // namespace muster
