// A device that is a script stands for one whose file is written beside us.
#include "output/output_queue.hpp"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <cerrno>

namespace muster {
namespace {

using namespace std::chrono_literals;

/// Takes everything at once. It arrives right after somebody has asked whether it has.
class ArrivesWhenAsked final : public ByteSink {
 public:
  explicit ArrivesWhenAsked(boost::asio::io_context& io) : io_(io) {}

  ssize_t write_some(std::string_view bytes) override { return static_cast<ssize_t>(bytes.size()); }
  void when_ready(SinkOwner& owner) override {
    boost::asio::post(io_, [&owner] { owner.on_ready(); });
  }
  bool has_written_all() const override { return std::exchange(has_arrived_, true); }
  void stop_waiting() override {}

 private:
  boost::asio::io_context& io_;
  mutable bool has_arrived_ = false;
};

/// A pipe that nobody reads, and that is full.
class TakesNothing final : public ByteSink {
 public:
  ssize_t write_some(std::string_view /*bytes*/) override {
    errno = EAGAIN;
    return -1;
  }
  void when_ready(SinkOwner& /*owner*/) override {}
  void stop_waiting() override {}
};

struct NotesTheDrain final : public QueueOwner {
  void on_queue_writable() override {}
  void on_queue_drained() override { is_drained = true; }

  bool is_drained = false;
};

TEST(OutputQueue, ReportsDroppedLinesOnceAfterItWasAbandoned) {
  boost::asio::io_context io;
  OutputQueue sink(io, std::make_unique<TakesNothing>(), {"standard output", "console line"}, 5s);
  EXPECT_TRUE(sink.write("one\ntwo\n"));

  EXPECT_EQ(sink.discard(), 2U);
  EXPECT_EQ(sink.discard(), 0U);
  EXPECT_EQ(sink.give_up(), 0U);
}

TEST(OutputQueue, CallsItsOwnerThoughItWasSettledRightAfterwards) {
  boost::asio::io_context io;
  NotesTheDrain owner;
  OutputQueue sink(io, std::make_unique<ArrivesWhenAsked>(io), {"log files", "log line"}, 5s, &owner);
  EXPECT_TRUE(sink.write("line\n"));

  EXPECT_FALSE(sink.drain());
  io.run();

  EXPECT_TRUE(owner.is_drained);
}

}  // namespace
}  // namespace muster
