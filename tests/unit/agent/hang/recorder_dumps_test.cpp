// Dumps of ranks that write nonsense, or nothing.
#include "agent/hang/recorder_dumps.hpp"

#include "base/file_io.hpp"

#include <gtest/gtest.h>

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace muster {
namespace {

TEST(RecorderDumps, AreReadAgainOnlyAfterTheyHaveChanged) {
  const std::string folder = testing::TempDir() + "recorder_dumps_" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/dump_0") << "half of a";
  const UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), (folder + "/dump_0").c_str(), IN_OPEN), 0);

  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  EXPECT_TRUE(read_dumps({0, 1}, {{0, folder}, {1, folder}}, soon).empty());

  alignas(inotify_event) std::array<char, 4'096> events{};
  const ssize_t bytes = ::read(watch.get(), events.data(), events.size());
  EXPECT_EQ(bytes, static_cast<ssize_t>(sizeof(inotify_event))) << "opened once";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster
