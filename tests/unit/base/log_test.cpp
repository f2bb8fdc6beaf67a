// The voice of muster.
#include "base/log.hpp"

#include "base/file_io.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace muster {
namespace {

/// Collects what is said, and leaves the voice as it was.
class Messages : public testing::Test {
 protected:
  Messages() {
    set_log_sink([this](std::string_view line) { said_ += line; });
    set_up_messages(Level::Info, /*with_colour=*/false);
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages() override {
    set_log_sink({});
    set_up_messages(Level::Info, /*with_colour=*/false);
  }

  std::string said_;
};

TEST_F(Messages, BeginWithTheName) {
  log_info("4 workers");
  log_warning("a console stalled");
  log_error("exit code 3");

  EXPECT_EQ(said_, "muster: 4 workers\nmuster: a console stalled\nmuster: exit code 3\n");
}

/// Has put another descriptor in place of standard error.
class Redirected {
 public:
  explicit Redirected(int other) : before_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    (void)::dup2(other, STDERR_FILENO);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  ~Redirected() { (void)::dup2(before_.get(), STDERR_FILENO); }

 private:
  UniqueFd before_;
};

std::string read_available(int fd) {
  std::array<char, 1000> buffer{};
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : "";
}

TEST_F(Messages, AreWrittenAtOnceWithoutABacklog) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  const Redirected redirected(write_end.get());
  set_log_sink({});
  buffer_log();

  log_info("a notice");
  EXPECT_EQ(read_available(read_end.get()), "muster: a notice\n");

  while (::write(write_end.get(), "x", 1) == 1) {
  }
  log_info("kept");
  while (!read_available(read_end.get()).empty()) {
  }
  log_info("in order");
  EXPECT_EQ(read_available(read_end.get()), "");
  flush_log();
  EXPECT_EQ(read_available(read_end.get()), "muster: kept\nmuster: in order\n");
}

TEST_F(Messages, AreKeptWhereAFileMayHang) {
  const UniqueFd file(::memfd_create("standard error", MFD_CLOEXEC));
  const Redirected redirected(file.get());
  set_log_sink({});
  buffer_log();

  log_info("a notice");
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_END), 0);
  set_log_sink([this](std::string_view line) { said_ += line; });
  EXPECT_EQ(said_, "muster: a notice\n");
}

TEST_F(Messages, BeginWithTheNameOnEachOfTheirLines) {
  log_error("RANK is '1\n2', expected a node rank");

  EXPECT_EQ(said_, "muster: RANK is '1\nmuster: 2', expected a node rank\n");
}

TEST_F(Messages, EscapeCursorMovements) {
  log_error("MASTER_ADDR is 'a\x1b[31m\r\x7f\tb'");

  EXPECT_EQ(said_, "muster: MASTER_ADDR is 'a\\x1b[31m\\x0d\\x7f\tb'\n");
}

TEST_F(Messages, EscapeColoursInTheirText) {
  set_up_messages(Level::Info, /*with_colour=*/true);
  log_error(
      "host '\x1b[0m\xC2\x9B"
      "32m'");

  EXPECT_EQ(said_, "\x1b[31mmuster: host '\\x1b[0m\\u009b32m'\x1b[0m\n");
}

TEST_F(Messages, NameAHostThatDrawsNothing) {
  set_log_host("node\x1b[2J\n1");
  log_info("here");
  set_log_host("");

  EXPECT_EQ(said_, "[node\\x1b[2J\\n1] muster: here\n");
}

TEST_F(Messages, ArePrintedAsTheyAre) {
  log_info("{} %s %n {0} {worker_port} 100%");

  EXPECT_EQ(said_, "muster: {} %s %n {0} {worker_port} 100%\n");
}

TEST_F(Messages, BelowTheLeastLevelAreNotSaid) {
  log_debug("waiting for worker 3");
  EXPECT_EQ(said_, "");

  set_up_messages(Level::Debug, /*with_colour=*/false);
  log_debug("waiting for worker 3");
  EXPECT_EQ(said_, "muster: waiting for worker 3\n");

  said_.clear();
  set_up_messages(Level::Error, /*with_colour=*/false);
  log_warning("a console stalled");
  log_error("exit code 3");
  EXPECT_EQ(said_, "muster: exit code 3\n");
}

TEST_F(Messages, AreColouredByLevelOnRequest) {
  set_up_messages(Level::Info, /*with_colour=*/true);
  log_info("plain");
  log_warning("yellow");
  log_error("red");

  EXPECT_EQ(said_, "muster: plain\n\x1b[33mmuster: yellow\x1b[0m\n\x1b[31mmuster: red\x1b[0m\n");
}

TEST_F(Messages, GoToStandardErrorWithoutASink) {
  set_log_sink({});
  testing::internal::CaptureStderr();
  log_info("hello");

  EXPECT_EQ(testing::internal::GetCapturedStderr(), "muster: hello\n");
}

}  // namespace
}  // namespace muster
