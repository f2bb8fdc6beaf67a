// Calls that are made later, and those that are not wanted any more.
#include "process/timers.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

namespace muster {
namespace {

using std::chrono::milliseconds;

class TimerTest : public testing::Test {
 protected:
  /// Runs `revoke` while the call of `timer_` waits for its turn; returns the calls that were made.
  std::string calls_after(const std::function<void()>& revoke) {
    Timer earlier(io_);
    earlier.start(-std::chrono::seconds(2), revoke);
    timer_->start(-std::chrono::seconds(1), [this] { calls_ += "first "; });
    io_.run();
    return calls_;
  }

  boost::asio::io_context io_;
  std::unique_ptr<Timer> timer_ = std::make_unique<Timer>(io_);
  std::string calls_;
};

TEST_F(TimerTest, CallsOnce) {
  EXPECT_EQ(calls_after([] {}), "first ");
  EXPECT_FALSE(timer_->is_pending());
}

TEST_F(TimerTest, CallsNothingOnceItIsCancelled) {
  EXPECT_EQ(calls_after([this] { timer_->cancel(); }), "");
}

TEST_F(TimerTest, CallsNothingOnceItIsDestroyed) {
  EXPECT_EQ(calls_after([this] { timer_.reset(); }), "");
}

TEST_F(TimerTest, CallsOnlyForTheLastStart) {
  EXPECT_EQ(calls_after([this] { timer_->start({}, [this] { calls_ += "second "; }); }), "second ");
}

TEST(DelayedCall, FiresOnceHoweverOftenItIsScheduled) {
  boost::asio::io_context io;
  int looks = 0;
  DelayedCall look(io, milliseconds(1), [&] { ++looks; });
  look.ask();
  look.ask();
  EXPECT_TRUE(look.is_pending());

  io.run();

  EXPECT_EQ(looks, 1);
  EXPECT_FALSE(look.is_pending());
}

TEST(DelayedCall, DoesNotFireAfterCancel) {
  boost::asio::io_context io;
  int looks = 0;
  DelayedCall look(io, milliseconds(1), [&] { ++looks; });
  look.ask();
  look.cancel();

  io.run();

  EXPECT_EQ(looks, 0);
}

TEST(Debounce, FiresAtItsMaximumDelayDespiteConstantScheduling) {
  boost::asio::io_context io;
  int looks = 0;
  Debounce look(io, milliseconds(2), [&] { ++looks; });
  boost::asio::steady_timer again(io);
  const std::function<void()> ask = [&] {
    look.ask();
    again.expires_after(milliseconds(1));
    again.async_wait([&](const boost::system::error_code& /*none*/) {
      if (looks == 0) {
        ask();
      }
    });
  };
  ask();

  io.run_for(std::chrono::seconds(20));

  EXPECT_EQ(looks, 1);
}

}  // namespace
}  // namespace muster
