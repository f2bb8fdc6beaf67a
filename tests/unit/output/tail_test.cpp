// The last lines of a stream, for the report.
#include "base/text.hpp"
#include "output/line_framer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

using Lines = std::vector<std::string>;

Lines tail_of(const std::string& bytes) {
  Tail tail;
  tail.feed(bytes);
  return tail.lines();
}

TEST(Tail, OfNothingIsEmpty) {
  EXPECT_EQ(Tail().lines(), Lines{});
  EXPECT_EQ(tail_of(""), Lines{});
  EXPECT_EQ(tail_of("\n\r\n\n"), Lines{});
}

TEST(Tail, HasTheLinesOldestFirst) {
  EXPECT_EQ(tail_of("a\nb\n\nc\n"), (Lines{"a", "b", "", "c"}));
}

TEST(Tail, KeepsALastLineWithoutItsEnd) {
  EXPECT_EQ(tail_of("a\nb"), (Lines{"a", "b"}));
}

TEST(Tail, HasTwentyLinesAtMost) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    bytes += "line " + std::to_string(i) + "\n";
  }
  const Lines lines = tail_of(bytes);

  ASSERT_EQ(lines.size(), Tail::kLines);
  EXPECT_EQ(lines.front(), "line 80");
  EXPECT_EQ(lines.back(), "line 99");
}

TEST(Tail, HasTwentyLinesAtEveryMoment) {
  const std::string padding(700, 'x');  // twenty lines are just less than what is remembered
  Tail tail;
  for (int i = 0; i < 200; ++i) {
    tail.feed("line " + std::to_string(i) + " " + padding + "\n");
    const Lines lines = tail.lines();
    const int first = std::max(0, i - 19);
    ASSERT_EQ(lines.size(), static_cast<std::size_t>(i - first + 1));
    EXPECT_TRUE(lines.front().starts_with("line " + std::to_string(first) + " "));
  }
}

TEST(Tail, IsTheSameHoweverTheBytesAreTorn) {
  std::string bytes;
  for (int i = 0; i < 5'000; ++i) {
    bytes += "line " + std::to_string(i) + " \xE2\x82\xAC\n";
  }
  const Lines expected = tail_of(bytes);

  for (const std::size_t length : {1U, 7U, 1'000U, 16'384U, 16'385U, 40'000U}) {
    Tail tail;
    for (std::size_t at = 0; at < bytes.size(); at += length) {
      tail.feed(std::string_view(bytes).substr(at, length));
    }
    EXPECT_EQ(tail.lines(), expected) << length;
  }
}

TEST(Tail, ForgetsOldLines) {
  Tail tail;
  tail.feed("the beginning\n");
  tail.feed(std::string(Tail::kBytes, 'x') + "\nthe end\n");

  for (const std::string& line : tail.lines()) {
    EXPECT_EQ(line.find("the beginning"), std::string::npos);
  }
  EXPECT_EQ(tail.lines().back(), "the end");
}

TEST(Tail, LeavesOutColours) {
  EXPECT_EQ(tail_of("  File \x1b[35m\"a.py\"\x1b[0m, line \x1b[35m4\x1b[0m\n\x1b[1;35mValueError\x1b[0m: x\n"),
            (Lines{"  File \"a.py\", line 4", "ValueError: x"}));
  EXPECT_EQ(tail_of("\x1b[2K\x1b[1 m \x1b["), (Lines{"\x1b[2K\x1b[1 m \x1b["})) << "these are no colours";
}

TEST(Tail, CutsALongLineAtItsBeginning) {
  const Lines lines = tail_of(std::string(5'000, 'x') + "the end\nshort\n");

  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].size(), Tail::kLongestLine + std::string("...").size());
  EXPECT_TRUE(lines[0].starts_with("...xxx"));
  EXPECT_TRUE(lines[0].ends_with("xthe end"));
}

TEST(Tail, CutsALongLineBetweenCharacters) {
  for (const std::string unit : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x9A\x80"}) {
    for (std::size_t offset = 0; offset < unit.size(); ++offset) {
      std::string line;
      while (line.size() < 3 * Tail::kLongestLine) {
        line += unit;
      }
      const Lines lines = tail_of(line + std::string(offset, 'x') + "\n");
      ASSERT_EQ(lines.size(), 1U);
      EXPECT_EQ(lines[0].find("\xEF\xBF\xBD"), std::string::npos) << lines[0].substr(0, 12);
      EXPECT_TRUE(lines[0].starts_with("..." + unit));
    }
  }
}

TEST(Tail, ShowsTheLastStepOfAProgressBar) {
  EXPECT_EQ(tail_of("10%\r20%\r30%\nnext\r\n"), (Lines{"30%", "next"}));
  EXPECT_EQ(tail_of("10%\r20%\r"), (Lines{"20%"}));
}

TEST(Tail, IsValidUtf8WhateverComes) {
  std::string bytes;
  for (int i = 0; i < 256 * 40; ++i) {
    bytes += static_cast<char>(i);
    bytes += static_cast<char>(i / 256);
  }
  for (const std::string& line : tail_of(bytes)) {
    EXPECT_EQ(valid_utf8(line), line);
  }
}

}  // namespace
}  // namespace muster
