// The file of bad nodes: its lines, writers that are killed, and several at once.
#include "preflight/bad_nodes.hpp"

#include "base/file_io.hpp"
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <tuple>

namespace muster::preflight {
namespace {

namespace fs = std::filesystem;

const WallTime kNow{std::chrono::seconds(1'764'402'641)};  // 2025-11-29T07:50:41Z

/// Owner, group and mode.
using Rights = std::tuple<uid_t, gid_t, mode_t>;

class BadNodesFile : public testing::Test {
 protected:
  BadNodesFile() {
    std::string form = (fs::temp_directory_path() / "bad-XXXXXX").string();
    folder_ = ::mkdtemp(form.data());
    path_ = folder_ / "nodes";
  }
  ~BadNodesFile() override { fs::remove_all(folder_); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string text() const { return read_regular_file(path_).value_or("none"); }
  std::string keep(const std::string& machine) const {
    const auto kept = keep_bad_node(path_, {machine, "", "lost"}, kNow);
    return kept ? "" : kept.error().message;
  }
  Rights rights() const {
    struct stat status {};
    EXPECT_EQ(::stat(path_.c_str(), &status), 0);
    return {status.st_uid, status.st_gid, status.st_mode & 0777U};
  }
  std::size_t entries() const { return parse_bad_nodes(text(), kNow).nodes.size(); }

  fs::path folder_;
  fs::path path_;
};

/// A process that does this and ends; it has no part in the results of this one.
pid_t start(const std::function<void()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    work();
    ::_exit(0);
  }
  return pid;
}

TEST(BadNodes, AreRead) {
  const BadNodes found = parse_bad_nodes(
      "# a comment\n"
      "gpu-1 2025-12-06T07:50:41Z 2025-11-29T07:50:41Z in attempt 0 (lost)\n"
      "gpu-2\n\n"
      "gpu-3 2025-11-29T07:50:41Z 2025-11-22T07:50:41Z has ended\n"
      "gpu-4 2025-12-06T07:50:41Z",
      kNow);
  ASSERT_EQ(found.nodes.size(), 3U);
  EXPECT_EQ(found.nodes[0].machine, "gpu-1");
  EXPECT_EQ(found.nodes[0].until, "2025-12-06T07:50:41Z");
  EXPECT_EQ(found.nodes[0].reason, "in attempt 0 (lost)");
  EXPECT_EQ(found.nodes[1].until, "");
  EXPECT_EQ(found.unreadable, 0U);
}

TEST(BadNodes, CountBrokenLines) {
  for (const char* const line : {"gpu-1 tomorrow", "../x", "gpu;1", "\x1b[2J", "gpu-1 2025-12-06T07:50:41Z yesterday",
                                 "-x", "gpu-1 2025-12-06 07:50:41"}) {
    EXPECT_EQ(parse_bad_nodes(line, kNow).unreadable, 1U) << line;
    EXPECT_TRUE(parse_bad_nodes(line, kNow).nodes.empty()) << line;
  }
}

TEST(BadNodes, ReasonsOfAFileReachNoTerminal) {
  const BadNodes found = parse_bad_nodes("gpu-1 2025-12-06T07:50:41Z 2025-11-29T07:50:41Z a\x1b[2Jb", kNow);
  EXPECT_EQ(found.nodes.at(0).reason.find('\x1b'), std::string::npos);
}

TEST(BadNodes, AreAddedBesideWhatIsThere) {
  const std::string changed = with_bad_node(
      "# mine\n"
      "gpu-1 2025-12-01T00:00:00Z 2025-11-24T00:00:00Z old\n"
      "gpu-3 2025-11-29T07:50:41Z 2025-11-22T07:50:41Z has ended\n"
      "rub?bish\n"
      "gpu-2",
      {"gpu-1", "", "two\nlines"}, kNow);
  EXPECT_EQ(changed,
            "# mine\nrub?bish\ngpu-2\n"
            "gpu-1 2025-12-06T07:50:41Z 2025-11-29T07:50:41Z two\\nlines\n");
}

TEST_F(BadNodesFile, IsMadeAndReadAgain) {
  EXPECT_EQ(keep("gpu-1"), "");
  EXPECT_EQ(keep("gpu-2"), "");
  EXPECT_EQ(text().substr(0, 2), "# ");
  const auto read = read_bad_nodes(path_);
  ASSERT_TRUE(read);
  EXPECT_EQ(parse_bad_nodes(*read, kNow).nodes.size(), 2U);
  EXPECT_FALSE(read_bad_nodes(folder_)) << "a folder";
  EXPECT_EQ(*read_bad_nodes(folder_ / "missing"), "");
}

TEST_F(BadNodesFile, TakesNamesOfMachinesOnly) {
  for (const char* const name : {"", "gpu 1", "gpu\n1", "../x", "#x", "$(reboot)", "-x"}) {
    EXPECT_NE(keep(name), "") << name;
  }
  EXPECT_EQ(text(), "none");
}

TEST_F(BadNodesFile, KeepsItsModeAndItsLink) {
  write("gpu-1\n");
  fs::permissions(path_, fs::perms(0640));
  fs::create_symlink(path_, folder_ / "link");
  ASSERT_TRUE(keep_bad_node(folder_ / "link", {"gpu-2", "", ""}, kNow));
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0640));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(entries(), 2U);
}

TEST_F(BadNodesFile, KeepsItsOwnerWhereThisUserMay) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs another user";
  }
  write("gpu-1\n");
  fs::permissions(path_, fs::perms(0640));
  ASSERT_EQ(::chown(path_.c_str(), 12'345, 54'321), 0);
  ASSERT_EQ(keep("gpu-2"), "");
  EXPECT_EQ(rights(), (Rights{12'345, 54'321, 0640}));

  fs::permissions(path_, fs::perms(0664));
  ASSERT_EQ(::chown(folder_.c_str(), 777, 777), 0);
  const pid_t other = start([&] {
    ::_exit(::setgroups(0, nullptr) == 0 && ::setgid(777) == 0 && ::setuid(777) == 0 && keep("gpu-3").empty() ? 7 : 1);
  });
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(rights(), (Rights{777, 777, 0644})) << "another group may do no more than all users could";
  EXPECT_EQ(entries(), 3U);
}

TEST_F(BadNodesFile, FollowsNoLinkOfAnotherUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs another user";
  }
  fs::permissions(folder_, fs::perms(01777));
  write("gpu-1\n");
  fs::create_symlink(path_, folder_ / "link");
  ASSERT_EQ(::lchown((folder_ / "link").c_str(), 12'345, 12'345), 0);
  EXPECT_FALSE(keep_bad_node(folder_ / "link", {"gpu-2", "", ""}, kNow));
  EXPECT_FALSE(read_bad_nodes(folder_ / "link"));
  EXPECT_EQ(text(), "gpu-1\n");
}

TEST_F(BadNodesFile, StaysAsItWasOnAFullDisk) {
  ASSERT_EQ(keep("gpu-1"), "");
  const std::string before = text();
  const pid_t writer = start([&] {
    const rlimit none{8, 8};
    (void)::signal(SIGXFSZ, SIG_IGN);
    (void)::setrlimit(RLIMIT_FSIZE, &none);
    ::_exit(keep("gpu-2").find("cannot write") == std::string::npos ? 1 : 7);
  });
  int status = 0;
  ::waitpid(writer, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(text(), before);
  EXPECT_EQ(keep("gpu-2"), "") << "there is room again";
}

TEST_F(BadNodesFile, LosesNothingOfTwoWriters) {
  constexpr int kRounds = 20;
  constexpr int kEntries = 10;
  for (int round = 0; round < kRounds; ++round) {
    fs::remove(path_);
    std::array<pid_t, 2> writers{};
    for (int writer = 0; writer < 2; ++writer) {
      writers.at(static_cast<std::size_t>(writer)) = start([&, writer] {
        for (int i = 0; i < kEntries; ++i) {
          (void)keep("gpu-" + std::to_string(writer) + "-" + std::to_string(i));
        }
      });
    }
    for (const pid_t pid : writers) {
      ::waitpid(pid, nullptr, 0);
    }
    ASSERT_EQ(entries(), 2U * kEntries) << text();
  }
}

/// A writer is killed at any moment; an entry that it had told of before stays.
TEST_F(BadNodesFile, IsWholeAfterAKill) {
  constexpr int kRounds = 200;
  std::mt19937 random(58);
  for (int round = 0; round < kRounds; ++round) {
    fs::remove(path_);
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    const pid_t writer = start([&] {
      for (int i = 0; i < 1'000; ++i) {
        (void)keep("gpu-" + std::to_string(i));
        (void)write_all(pipe->write.get(), "x");
      }
    });
    pipe->write.reset();
    const std::size_t told = read_up_to(pipe->read.get(), 1 + random() % 4).bytes.size();
    for (auto calls = random() % 20'000; calls > 0; --calls) {
      (void)::getppid();
    }
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    const BadNodes found = parse_bad_nodes(text(), kNow);
    ASSERT_EQ(found.unreadable, 0U) << text();
    ASSERT_GE(found.nodes.size(), told) << text();
    ASSERT_EQ(text().back(), '\n');
    ASSERT_EQ(keep("gpu-next"), "") << "the lock is free, and what was left is no obstacle";
    ASSERT_EQ(entries(), found.nodes.size() + 1);
  }
}

}  // namespace
}  // namespace muster::preflight
