// The grace: it ends once, and can become shorter.
#include "agent/stop_timers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace muster {
namespace {

using std::chrono::milliseconds;

/// Cancels its grace at the end, so that the loop ends.
struct GraceOwner : StopTimersOwner {
  explicit GraceOwner(milliseconds length) : grace(*this, io, length) {}

  void on_grace_ended() override {
    ++ends;
    grace.cancel();
  }
  void on_kill_round(const std::vector<Process>& /*found*/, bool /*is_too_late*/) override {}

  boost::asio::io_context io;
  Grace grace;
  int ends = 0;
};

TEST(Grace, EndsOnce) {
  GraceOwner owner(milliseconds(1));
  owner.grace.start();

  owner.io.run();

  EXPECT_EQ(owner.ends, 1);
}

TEST(Grace, CanBeMadeShorterWhileItRuns) {
  GraceOwner owner{std::chrono::hours(1)};
  Grace& grace = owner.grace;
  grace.start();
  grace.shorten(milliseconds(1));
  EXPECT_EQ(grace.length(), milliseconds(1));
  grace.shorten(std::chrono::hours(2));
  EXPECT_EQ(grace.length(), milliseconds(1)) << "never longer";

  owner.io.run();

  EXPECT_EQ(owner.ends, 1);
}

}  // namespace
}  // namespace muster
