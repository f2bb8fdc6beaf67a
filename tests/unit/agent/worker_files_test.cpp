// A check of a file's progress, by a real helper process.
#include "agent/worker_files.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace muster {
namespace {

TEST(FileProgress, IsAChangeSinceTheLastCheck) {
  boost::asio::io_context io;
  HelperProcesses helpers(**GuardSharedMemory::make());
  std::string folder = testing::TempDir() + "progress_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/file";
  FileProgress watch(io, helpers, path);
  const auto check = [&] {
    std::optional<bool> found;
    watch.check([&](std::optional<bool> has_changed) { found = has_changed; });
    io.restart();
    io.run();
    return found;
  };
  EXPECT_EQ(check(), std::nullopt);  // nobody knows what it was before
  EXPECT_EQ(check(), false);
  std::ofstream(path) << "step 1";
  EXPECT_EQ(check(), true);
  EXPECT_EQ(check(), false);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster
