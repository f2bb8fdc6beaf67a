// Splitting a terminal's bytes into text and control sequences.
#include "output/terminal/terminal_parser.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

/// Each event as a word.
std::string events_of(std::string_view bytes) {
  using Kind = TerminalParser::Kind;
  TerminalParser parser;
  std::string words;
  for (const char c : bytes) {
    const TerminalParser::Event event = parser.take(c);
    const std::string last(1, event.last);
    const std::string text(event.text);
    switch (event.kind) {
      case Kind::Nothing:
      case Kind::PartOfCharacter:
        break;
      case Kind::Control:
        words += "control" + std::to_string(static_cast<int>(event.last)) + " ";
        break;
      case Kind::Character:
        words += text + " ";
        break;
      case Kind::Escape:
        words += "escape" + last + " ";
        break;
      case Kind::Choice:
        words += "choice" + text + last + " ";
        break;
      case Kind::Sequence:
        words += "sequence" + text + last + " ";
        break;
      case Kind::String:
        words += "string" + last + " ";
        break;
    }
  }
  return words + (parser.is_within_sequence() ? "..." : "");
}

TEST(TerminalParser, KnowsCharactersOfSeveralBytes) {
  EXPECT_EQ(events_of("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x80"), "a \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x9A\x80 ");
}

TEST(TerminalParser, KnowsSequences) {
  EXPECT_EQ(events_of("\x1b[31mred\x1b[?25l\x1b[m"), "sequence31m r e d sequence?25l sequencem ");
  EXPECT_EQ(events_of("\x1b(B\x1b#8\x1b"
                      "7"),
            "choice(B choice#8 escape7 ");
  EXPECT_EQ(events_of("\xC2\x9B"
                      "2J"),
            "sequence2J ");
}

TEST(TerminalParser, LeavesOutZerosThatLead) {
  EXPECT_EQ(events_of("\x1b[00;0010H"), "sequence;10H ");
}

TEST(TerminalParser, ObeysControlsWithinASequence) {
  EXPECT_EQ(events_of("\x1b[3\r1m"), "control13 sequence31m ");
}

TEST(TerminalParser, SwallowsStrings) {
  EXPECT_EQ(events_of("\x1b]0;title\ax"), "string] x ");
  EXPECT_EQ(events_of("\x1bPtext\x1b\\x"), "stringP escape\\ x ");
}

TEST(TerminalParser, ReportsUnfinishedSequences) {
  EXPECT_EQ(events_of("\x1b]0;title"), "string] ...");
  EXPECT_EQ(events_of("\x1b[31"), "...");
  EXPECT_EQ(events_of("\x1b[31\x18x"), "x ");
}

TEST(TerminalParser, BoundsASequence) {
  const std::string events = events_of("\x1b[" + std::string(10'000, '1') + "m");

  EXPECT_LT(events.size(), 300U);
  EXPECT_TRUE(events.ends_with("1m "));
}

}  // namespace
}  // namespace muster
