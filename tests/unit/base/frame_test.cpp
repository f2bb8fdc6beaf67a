// Messages out of a stream of bytes, however it is torn.
#include "base/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace muster {
namespace {

using namespace std::string_literals;

constexpr std::size_t kSmall = std::size_t{64} << 10U;
constexpr std::size_t kLarge = std::size_t{256} << 10U;

/// The payloads that are complete.
std::vector<std::string> take_all(FrameReader& reader) {
  std::vector<std::string> payloads;
  for (auto next = reader.next(); next && *next; next = reader.next()) {
    payloads.push_back(**next);
  }
  return payloads;
}

TEST(Frame, HasItsLengthBeforeIt) {
  EXPECT_EQ(frame("abc"), "\0\0\0\3abc"s);
  EXPECT_EQ(frame(std::string(0x1'02'03, 'x')).substr(0, 5), "\0\1\2\3x"s);
}

TEST(FrameReader, TakesFramesThatComeByteByByte) {
  FrameReader reader(10);
  std::vector<std::string> payloads;
  for (const char byte : frame("one") + frame("two") + frame("0123456789")) {
    reader.feed({&byte, 1});
    for (const std::string& payload : take_all(reader)) {
      payloads.push_back(payload);
    }
  }
  EXPECT_EQ(payloads, (std::vector<std::string>{"one", "two", "0123456789"}));
  EXPECT_EQ(reader.rest().size(), 0U);
}

TEST(FrameReader, TakesFramesThatComeTogether) {
  FrameReader reader(10);
  reader.feed(frame("one") + frame("two") + "\0\0"s);
  EXPECT_EQ(take_all(reader), (std::vector<std::string>{"one", "two"}));
  reader.feed("\0\1x"s);
  EXPECT_EQ(take_all(reader), (std::vector<std::string>{"x"}));
}

TEST(FrameReader, HasItsLimitExactly) {
  FrameReader reader(3);
  reader.feed(frame("123"));
  EXPECT_EQ(take_all(reader).size(), 1U);
  reader.feed("\0\0\0\4"s);
  const auto next = reader.next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().message, "a message of 4 bytes, expected at most 3");
}

TEST(FrameReader, AppliesASeparateLimitToTheNextFrame) {
  FrameReader reader(kSmall);
  reader.feed(frame("join") + frame(std::string(kLarge, 'x')));
  ASSERT_TRUE(*reader.next());
  reader.set_limit(kLarge);
  EXPECT_EQ(take_all(reader).size(), 1U);
}

TEST(FrameReader, RefusesAnEmptyFrameForever) {
  FrameReader reader(10);
  reader.feed("\0\0\0\0"s);
  EXPECT_FALSE(reader.next());
  reader.feed(frame("one"));
  EXPECT_FALSE(reader.next());
}

TEST(FrameReader, AllocatesNoMoreThanItReceived) {
  FrameReader reader(kLarge);
  reader.feed("\0\x04\0\0"s);  // announces 256 KiB
  EXPECT_FALSE(*reader.next());
  EXPECT_EQ(reader.rest().size(), 4U);
}

TEST(FrameReader, WantsNoByteOfWhatFollows) {
  const std::string all = frame("one") + frame("two") + "rest";
  FrameReader reader(10);
  std::size_t at = 0;
  for (int frames = 0; frames < 2;) {
    ASSERT_GT(reader.wanted(), 0U);
    const std::size_t count = std::min<std::size_t>(reader.wanted(), 2);
    reader.feed(std::string_view(all).substr(at, count));
    at += count;
    frames += *reader.next() ? 1 : 0;
  }
  EXPECT_EQ(all.substr(at), "rest");
}

TEST(FrameReader, SaysThatAnotherProtocolIsTooLong) {
  FrameReader reader(kSmall);
  reader.feed("GET / HTTP/1.1\r\n");
  const auto next = reader.next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().message, "a message of 1195725856 bytes, expected at most 65536");
}

}  // namespace
}  // namespace muster
