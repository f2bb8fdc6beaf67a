// Log files on a file system that answers nothing: the process that writes them is stopped.
#include "output/log_files.hpp"

#include "base/log.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace muster {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class LogFilesTest : public testing::Test, protected QueueOwner {
 protected:
  LogFilesTest() : folder_(fs::path(testing::TempDir()) / ("muster-log-files-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    (void)std::signal(SIGPIPE, SIG_IGN);  // as the program does: a writer may be killed between two writes
    set_log_sink([this](std::string_view line) { warnings_.emplace_back(line); });
  }
  ~LogFilesTest() override {
    set_log_sink({});
    signal_writer(SIGCONT);
    logs_.give_up();
    fs::remove_all(folder_);
  }

  void on_queue_writable() override {}
  void on_queue_drained() override {}

  /// Opens a file, and stops its writer then.
  std::shared_ptr<LogFile> open_and_stop() {
    auto file = logs_.open(path("first"));
    EXPECT_TRUE(run_until([&] { return file->opened.has_value(); }));
    signal_writer(SIGSTOP);
    return file;
  }

  /// It is the only child of this process.
  static void signal_writer(int number) {
    const std::string self = std::to_string(::getpid());
    std::ifstream children("/proc/self/task/" + self + "/children");
    for (pid_t child = 0; children >> child;) {
      ::kill(child, number);
    }
  }

  std::string path(const char* name) const { return (folder_ / name).string(); }

  template <typename Condition>
  bool run_until(const Condition& is_met) {
    const auto end = std::chrono::steady_clock::now() + 120s;
    while (!is_met() && std::chrono::steady_clock::now() < end) {
      io_.run_one_for(1s);
      io_.restart();
    }
    return is_met();
  }

  fs::path folder_;
  boost::asio::io_context io_;
  HelperProcesses helpers_{**GuardSharedMemory::make()};
  LogFiles logs_{io_, helpers_, 50ms, *this};
  std::vector<std::string> warnings_;
};

TEST_F(LogFilesTest, AreWaitedForUntilTheirFolderHasTakenNothingForTooLong) {
  (void)open_and_stop();
  (void)logs_.open(path("second"));
  bool goes_on = false;
  EXPECT_FALSE(logs_.are_open([&] { goes_on = true; }));
  ASSERT_TRUE(run_until([&] { return goes_on; }));
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_.front().find("does not respond"), std::string::npos);
}

TEST_F(LogFilesTest, AreNotWaitedForWhenAnAttemptHasBegunBefore) {
  (void)open_and_stop();
  EXPECT_TRUE(logs_.are_open([] {}));
  (void)logs_.open(path("of the next attempt"));
  EXPECT_TRUE(logs_.are_open([] {}));
}

TEST_F(LogFilesTest, AreMadeBehindNoLinkThatAnotherUserHasPutThereSince) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "another user's folder needs root";
  }
  const fs::path elsewhere = folder_ / "elsewhere";
  fs::create_directories(elsewhere);
  fs::create_directories(folder_ / "real");
  ASSERT_EQ(::chown((folder_ / "real").c_str(), 65'534, 65'534), 0);
  fs::create_directory_symlink("real", folder_ / "given");
  const auto first = logs_.open(path("given/0/log"));
  ASSERT_TRUE(run_until([&] { return first->opened.has_value(); }));
  EXPECT_TRUE(*first->opened) << "the user may name a link";

  fs::create_directory_symlink(elsewhere, folder_ / "real/1");
  fs::remove(folder_ / "given");
  fs::create_directory_symlink(elsewhere, folder_ / "given");
  const auto behind = logs_.open(path("given/1/log"));
  const auto beside = logs_.open(path("given/2/log"));
  ASSERT_TRUE(run_until([&] { return beside->opened.has_value(); }));
  EXPECT_FALSE(*behind->opened);
  EXPECT_TRUE(*beside->opened);
  EXPECT_TRUE(fs::exists(folder_ / "real/2/log")) << "in the folder that was there at the start";
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(LogFilesTest, AreMadeBehindNoLinkOfAnotherUserAfterTheirWriterWasKilled) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "another user's folder needs root";
  }
  const fs::path elsewhere = folder_ / "elsewhere";
  fs::create_directories(elsewhere);
  fs::create_directories(folder_ / "theirs/0");
  ASSERT_EQ(::chown((folder_ / "theirs").c_str(), 65'534, 65'534), 0);
  fs::create_directory_symlink("theirs", folder_ / "own");  // in a folder of root's alone
  ::chmod(folder_.c_str(), 0755);
  const auto first = logs_.open(path("own/0/log"));
  ASSERT_TRUE(run_until([&] { return first->opened.has_value(); }));
  EXPECT_TRUE(logs_.are_open([] {})) << "workers run from here on";

  fs::create_directory_symlink(elsewhere, folder_ / "theirs/1");
  signal_writer(SIGKILL);
  ASSERT_TRUE(run_until([&] {
    logs_.write(*first, "a line\n");
    return logs_.queue()->is_broken();
  }));
  const auto behind = logs_.open(path("own/1/log"));
  const auto beside = logs_.open(path("own/2/log"));
  ASSERT_TRUE(run_until([&] { return beside->opened.has_value(); }));
  EXPECT_TRUE(fs::is_empty(elsewhere));
  EXPECT_TRUE(fs::exists(folder_ / "theirs/2/log")) << "a link that only root can have put there";
  ASSERT_FALSE(warnings_.empty());
  EXPECT_NE(warnings_.back().find("own/1/log"), std::string::npos) << warnings_.back();
}

TEST_F(LogFilesTest, ThatCannotBeMadeAreAnErrorInTheFirstAttemptAlone) {
  std::ofstream(path("file")).close();
  const auto first = logs_.open(path("file/first"));
  bool goes_on = false;
  EXPECT_FALSE(logs_.are_open([&] { goes_on = true; }));
  ASSERT_TRUE(run_until([&] { return goes_on; }));
  EXPECT_FALSE(*first->opened);
  const auto later = logs_.open(path("file/later"));
  ASSERT_TRUE(run_until([&] { return later->opened.has_value(); }));
  EXPECT_TRUE(*later->opened);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_.front().find("cannot create the log file"), std::string::npos);
}

}  // namespace
}  // namespace muster
