// The marks in lines of workers on a terminal, and what is written before a message of muster.
#include "output/terminal/terminal_sanitizer.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::string kMarked = "muster: \b\b\b\b\b\b\b\b| muster: ";

/// The bytes that a terminal of 20 columns gets for lines of several workers.
std::string marked(std::string_view lines) {
  TerminalSanitizer sanitizer;
  sanitizer.set_width(20);
  return sanitizer.mark(lines);
}

TEST(TerminalSanitizer, ChangesNothingOfOrdinaryLines) {
  for (const std::string text :
       {"loss 0.25\n", "must\nmuster\nmuster:x\n musters: \n", "INFO muster: loaded\n",
        "\r 50%|#####     |\r100%|##########|\n", "\x1b[31mred\x1b[0m\n", "[0] \x1b[Kmuster: 4 workers\n",
        "[3] muster: nested\n", "\xC3\xA9\xF0\x9F\x9A\x80 \xFF\n", "INFO \xC3\xA9 muster: loaded\n"}) {
    EXPECT_EQ(marked(text), text);
  }
}

TEST(TerminalSanitizer, LeavesTheMarksOfAnotherMusterAlone) {
  EXPECT_EQ(sanitize_marked("a\b" + kMarked + "9\x1b[H" + kMarked + "\x1b[31m\b\n"),
            "a\\x08" + kMarked + "9\\x1b[H" + kMarked + "\x1b[31m\\x08\n");
}

TEST(TerminalSanitizer, MarksWhatLooksLikeALineOfMuster) {
  EXPECT_EQ(marked("muster: 9\n"), kMarked + "9\n");
  EXPECT_EQ(marked("text\nmuster: 9\n"), "text\n" + kMarked + "9\n");
  EXPECT_EQ(marked("text\r\x1b[Kmuster: 9\n"), "text\r\x1b[K" + kMarked + "9\n");
}

TEST(TerminalSanitizer, SeesThroughColoursAndCharactersThatMayTakeNoColumn) {
  const std::string mark = kMarked.substr(8);
  EXPECT_EQ(marked("\x1b[31mmus\x1b[0mter: x"), "\x1b[31mmus\x1b[0mter: " + mark + "x");
  for (const std::string drawn_over : {"\xCC\x81", "\xEF\xB8\x8F", "\xE2\x83\xA3", "\xE2\x80\x8D", "\xE3\x85\xA4"}) {
    EXPECT_EQ(marked(drawn_over + "muster: x"), drawn_over + kMarked + "x");
    EXPECT_EQ(marked("mus" + drawn_over + "ter: x"), "mus" + drawn_over + "ter: " + mark + "x");
  }
}

TEST(TerminalSanitizer, KnowsBlanksOfAnotherKind) {
  for (const std::string blank : {"\t", "\xC2\xA0", "\xE3\x80\x80"}) {
    EXPECT_EQ(marked("muster:" + blank + "x"), "muster:" + blank + kMarked.substr(8) + "x");
  }
}

TEST(TerminalSanitizer, MarksItWhereALineMayGoOnInTheNextRow) {
  const std::string filled = "[0] " + std::string(16, '-');
  EXPECT_EQ(marked(filled + "muster: over\n"), filled + kMarked + "over\n");
  EXPECT_EQ(marked(filled + "---muster: over\n"), filled + "---" + kMarked + "over\n");
  const std::string shorter = "[0] " + std::string(15, '-') + "muster: over\n";
  EXPECT_EQ(marked(shorter), shorter);

  const std::string others = "x\xE3\x85\xA4\xE3\x85\xA4\xE3\x85\xA4\xE3\x85\xA4";
  EXPECT_EQ(marked(others + "muster: over\n"), others + kMarked + "over\n") << "terminals differ in their width";
  const std::string bytes = "x\xE3-\xE3-\xE3-\xE3-\xE3-\xE3-\xE3-";
  EXPECT_EQ(marked(bytes + "muster: over\n"), bytes + kMarked + "over\n");
  EXPECT_EQ(marked("x\t\t\tmuster: over\n"), "x\t\t\t" + kMarked + "over\n");
}

TEST(TerminalSanitizer, MarksItAnywhereInALineThatWasShownUnfinished) {
  TerminalSanitizer sanitizer;
  EXPECT_EQ(sanitizer.mark("Name: mus"), "Name: mus");
  EXPECT_EQ(sanitizer.mark("ter: x"), "ter: " + kMarked.substr(8) + "x");
  EXPECT_EQ(sanitizer.mark("muster: x\nx muster: y\n"), kMarked + "x\nx muster: y\n");
}

TEST(TerminalSanitizer, MarksNamesOfHostsWhereTheyAreExpected) {
  TerminalSanitizer sanitizer;
  EXPECT_EQ(sanitizer.mark("[gpu-17] muster: over\n"), "[gpu-17] muster: over\n");
  sanitizer.expect_hosts();
  EXPECT_EQ(sanitizer.mark("[gpu-17] muster: over\n"), "[gpu-17] " + kMarked + "over\n");
  EXPECT_EQ(sanitizer.mark("[fe80::1] muster: x\n"), "[fe80::1] " + kMarked + "x\n");
  for (const std::string text : {"[1:12] muster: nested\n", "[3] muster: nested\n", "[a] b\n", "[INFO muster: x\n"}) {
    EXPECT_EQ(sanitizer.mark(text), text);
  }
}

TEST(TerminalSanitizer, HasNothingToDoBeforeALineBehindPlainText) {
  TerminalSanitizer sanitizer;
  sanitizer.note("loss 0.25 \xC3\xA9\n");
  EXPECT_EQ(sanitizer.write_reset(), "");
}

TEST(TerminalSanitizer, EndsColours) {
  TerminalSanitizer sanitizer;
  sanitizer.note("\x1b[8m");
  EXPECT_EQ(sanitizer.write_reset(), "\x1b[m");
  EXPECT_EQ(sanitizer.write_reset(), "") << "once";
}

TEST(TerminalSanitizer, EndsAStringWithoutAnEnd) {
  for (const std::string start : {"\x1b]0;", "\x1bP", "\x1b_", "\xC2\x9D", "\x1b]0;x\x1b"}) {
    TerminalSanitizer sanitizer;
    sanitizer.note(start);
    EXPECT_TRUE(sanitizer.write_reset().starts_with("\x1b\\")) << start;
  }
}

TEST(TerminalSanitizer, BringsLettersRegionAndWrappingBack) {
  for (const std::string change : {"\x1b(0", "\x0e", "\x1b[1;2r", "\x1b[4h", "\x1b[?7l",
                                   "\x1b"
                                   "c"}) {
    TerminalSanitizer sanitizer;
    sanitizer.note(change);
    const std::string way = sanitizer.write_reset();
    for (const char* const usual : {"\x1b[r", "\x1b(B", "\x0f", "\x1b[4l", "\x1b[?7h", "\x1b[m"}) {
      EXPECT_NE(way.find(usual), std::string::npos) << change;
    }
  }
}

TEST(TerminalSanitizer, LeavesTheOtherScreenOnlyIfAWorkerIsStillOnIt) {
  TerminalSanitizer sanitizer;
  sanitizer.note("\x1b[?25;1049h");
  EXPECT_TRUE(sanitizer.write_reset().starts_with("\x1b[?1049l"));

  sanitizer.note("\x1b[?1049h");
  EXPECT_TRUE(sanitizer.write_reset().starts_with("\x1b[?1049l"));

  sanitizer.note("\x1b[?1049h\x1b[?1049l");
  EXPECT_EQ(sanitizer.write_reset().find("1049"), std::string::npos);
}

}  // namespace
}  // namespace muster
