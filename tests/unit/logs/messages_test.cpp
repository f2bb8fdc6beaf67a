// The voice of muster.
#include <muster/logs/messages.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

/// Collects what is said, and leaves the voice as it was.
class Messages : public testing::Test {
 protected:
  Messages() {
    send_messages_to([this](std::string_view line) { said_ += line; });
    set_up_messages(Level::Info, /*with_colour=*/false);
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages() override {
    send_messages_to({});
    set_up_messages(Level::Info, /*with_colour=*/false);
  }

  std::string said_;
};

TEST_F(Messages, BeginWithTheName) {
  say_info("4 workers");
  say_warning("a console stalled");
  say_error("exit code 3");

  EXPECT_EQ(said_, "muster: 4 workers\nmuster: a console stalled\nmuster: exit code 3\n");
}

TEST_F(Messages, BeginWithTheNameOnEachOfTheirLines) {
  say_error("RANK is '1\n2', expected a node rank");

  EXPECT_EQ(said_, "muster: RANK is '1\nmuster: 2', expected a node rank\n");
}

TEST_F(Messages, MoveNobodysCursor) {
  say_error("MASTER_ADDR is 'a\x1b[31m\r\x7f\tb'");

  EXPECT_EQ(said_, "muster: MASTER_ADDR is 'a\\x1b[31m\\x0d\\x7f\tb'\n");
}

TEST_F(Messages, AreColouredByNobodyElse) {
  set_up_messages(Level::Info, /*with_colour=*/true);
  say_error(
      "host '\x1b[0m\xC2\x9B"
      "32m'");

  EXPECT_EQ(said_, "\x1b[31mmuster: host '\\x1b[0m\\u009b32m'\x1b[0m\n");
}

TEST_F(Messages, NameAHostThatDrawsNothing) {
  name_speaker("node\x1b[2J\n1");
  say_info("here");
  name_speaker("");

  EXPECT_EQ(said_, "[node\\x1b[2J\\n1] muster: here\n");
}

TEST_F(Messages, ArePrintedAsTheyAre) {
  say_info("{} %s %n {0} {worker_port} 100%");

  EXPECT_EQ(said_, "muster: {} %s %n {0} {worker_port} 100%\n");
}

TEST_F(Messages, BelowTheLeastLevelAreNotSaid) {
  say_debug("waiting for worker 3");
  EXPECT_EQ(said_, "");

  set_up_messages(Level::Debug, /*with_colour=*/false);
  say_debug("waiting for worker 3");
  EXPECT_EQ(said_, "muster: waiting for worker 3\n");

  said_.clear();
  set_up_messages(Level::Error, /*with_colour=*/false);
  say_warning("a console stalled");
  say_error("exit code 3");
  EXPECT_EQ(said_, "muster: exit code 3\n");
}

TEST_F(Messages, AreColouredByLevelWhenAsked) {
  set_up_messages(Level::Info, /*with_colour=*/true);
  say_info("plain");
  say_warning("yellow");
  say_error("red");

  EXPECT_EQ(said_, "muster: plain\n\x1b[33mmuster: yellow\x1b[0m\n\x1b[31mmuster: red\x1b[0m\n");
}

TEST_F(Messages, GoToStandardErrorWithoutASink) {
  send_messages_to({});
  testing::internal::CaptureStderr();
  say_info("hello");

  EXPECT_EQ(testing::internal::GetCapturedStderr(), "muster: hello\n");
}

}  // namespace
}  // namespace muster
