// Frames that wait to be sent: their order and their memory.
#include "gang/net/outbox.hpp"

#include <gtest/gtest.h>

namespace muster::gang {
namespace {

/// All of it, at most `most` bytes a time.
std::string drain(Outbox& outbox, std::size_t most) {
  std::string text;
  while (!outbox.is_empty()) {
    const std::string next(outbox.next(most));
    EXPECT_FALSE(next.empty());
    text += next;
    outbox.pop(next.size());
  }
  return text;
}

TEST(Outbox, KeepsTheOrderHoweverItIsTaken) {
  for (const std::size_t most : {1U, 3U, 100U}) {
    Outbox outbox;
    outbox.add("one ");
    outbox.add_bulk(std::make_shared<const std::string>("two "));
    outbox.add("three");
    EXPECT_EQ(outbox.other(), 9U);
    EXPECT_EQ(outbox.bulk(), 4U);
    EXPECT_EQ(drain(outbox, most), "one two three");
    EXPECT_EQ(outbox.other() + outbox.bulk(), 0U);
    EXPECT_EQ(outbox.next(1), "");
  }
}

TEST(Outbox, SharesAFrameWithOthers) {
  const auto frame = std::make_shared<const std::string>("piece");
  Outbox outbox;
  outbox.add_bulk(frame);
  EXPECT_EQ(outbox.next(100).data(), frame->data()) << "no copy";
  outbox.pop(5);
  EXPECT_EQ(frame.use_count(), 1);
}

TEST(Outbox, LetsAWordOvertakeBulk) {
  const auto chunk = std::make_shared<const std::string>("piece ");
  Outbox outbox;
  outbox.add("join ");
  outbox.add_bulk(chunk);
  outbox.add("start ");
  outbox.add_before_bulk("beat ");
  EXPECT_EQ(drain(outbox, 100), "join beat piece start ");
  outbox.add_bulk(chunk);
  outbox.add_bulk(chunk);
  outbox.pop(1);
  outbox.add_before_bulk("beat ");
  EXPECT_EQ(drain(outbox, 100), "iece beat piece ") << "not into the middle of a frame";
  outbox.add("join ");
  outbox.add_before_bulk("beat ");
  EXPECT_EQ(drain(outbox, 100), "join beat ");
}

TEST(Outbox, TakesAMillionMessagesInConstantTimeEach) {
  constexpr std::size_t kWords = 1'000'000;  // with a search for each it would take half an hour
  Outbox outbox;
  outbox.add_bulk(std::make_shared<const std::string>("piece"));
  for (std::size_t i = 0; i < kWords; ++i) {
    outbox.add_before_bulk("b");
  }
  EXPECT_EQ(outbox.overtaking(), kWords);
  EXPECT_EQ(drain(outbox, 1'000).size(), kWords + 5);
  EXPECT_EQ(outbox.overtaking(), 0U);
}

}  // namespace
}  // namespace muster::gang
