// Bytes that a terminal gets in place of a worker's, and before a line of muster's own.
#include "output/terminal_sanitizer.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kForged = "muster: 9 workers succeeded\n";
constexpr const char* kMarked = "muster: \r| muster: 9 workers succeeded\n";

std::string shown(std::string_view bytes) {
  return TerminalSanitizer().show(bytes);
}

TEST(TerminalSanitizer, ChangesNothingOfOrdinaryOutput) {
  for (const std::string text : {"loss 0.25\n", "must\nmuster\nmuster:x\n musters: \n", "INFO muster: loaded\n",
                                 "\r 50%|#####     |\r100%|##########|\n", "\x1b[31mred\x1b[0m\n",
                                 "[0] \x1b[Kmuster: 4 workers\n", "\xC3\xA9\xF0\x9F\x9A\x80 \xFF\n"}) {
    EXPECT_EQ(shown(text), text);
  }
}

TEST(TerminalSanitizer, MarksWhatLooksLikeALineOfMuster) {
  EXPECT_EQ(shown(kForged), kMarked);
  EXPECT_EQ(shown(std::string("text\n") + kForged), std::string("text\n") + kMarked);
}

TEST(TerminalSanitizer, MarksItWhereverTheCursorWasMoved) {
  for (const std::string before : {"text\r", "text\b\b\b\b", "text\v\r", "text\x1b[1;1H", "text\x1b[2F",
                                   "text\x1b"
                                   "8",
                                   "text\x1b(\rB",
                                   "text\x1b"
                                   "E",
                                   "text\xC2\x85", "text\xC2\x9BH"}) {
    EXPECT_EQ(shown(before + kForged), before + kMarked) << before;
  }
}

TEST(TerminalSanitizer, SeesThroughColoursAndInvisibleCharacters) {
  EXPECT_EQ(shown("\x1b[31mmus\x1b[0mter: x"), "\x1b[31mmus\x1b[0mter: \r| muster: x");
  EXPECT_EQ(shown("mus\xE2\x80\x8Bter: x"), "mus\xE2\x80\x8Bter: \r| muster: x");
  EXPECT_EQ(shown("mus\x1b]0;title\ater: x"), "mus\x1b]0;title\ater: \r| muster: x");
}

/// Sequences that change the character set, the keyboard or the cursor's shape do not move the cursor.
TEST(TerminalSanitizer, KnowsWhatDoesNotMoveTheCursor) {
  for (const std::string still :
       {"\x1b"
        "7",
        "\x1b=", "\x1b(B", "\x1b(B\x1b[m", "\x1b(&4", "\x1b\x7f(B", "\x1b[?25l", "\x1b[?2004;1h", "\x1b[s", "\x1b[6n",
        "\x1b[5 q", "\x1b[>4;2m", "\x1b[38:2::1:2:3m", "\x1b[J"}) {
    EXPECT_EQ(shown("m" + still + "uster: x"), "m" + still + "uster: \r| muster: x") << still;
    EXPECT_EQ(shown("INFO" + still + "muster: x"), "INFO" + still + "muster: x") << still;
  }
}

TEST(TerminalSanitizer, MarksInPlaceWhereTheRowIsNotKnown) {
  for (const std::string away : {"\x1b[2A", "\x1bM", "\x1b[9;4H", "\x1b[?69h", "\x1b[9z"}) {
    EXPECT_EQ(shown("abc" + away + "muster: x"), "abc" + away + "muster: \b\b\b\b\b\b\b\b| muster: x") << away;
  }
}

TEST(TerminalSanitizer, SeesWhatTakesNoColumnOrIsABlankOfAnotherKind) {
  for (const std::string drawn_over : {"\xCC\x81", "\xEF\xB8\x8F", "\xE2\x83\xA3", "\xE2\x80\x8D"}) {
    EXPECT_EQ(shown(drawn_over + kForged), drawn_over + kMarked);
    EXPECT_EQ(shown("mus" + drawn_over + "ter: x"), "mus" + drawn_over + "ter: \r| muster: x");
  }
  EXPECT_EQ(shown("muster:\tx"), "muster:\t\r| muster: x");
  EXPECT_EQ(shown("muster:\xC2\xA0x"), "muster:\xC2\xA0\r| muster: x");
  EXPECT_EQ(shown("muster:\x1b[Cx"), "muster:\x1b[C\r| muster: x");
}

TEST(TerminalSanitizer, SeesTextAssembledByCursorMovements) {
  for (const std::string text : {"xuster: over\rm",
                                 "xuster: over\x1b[Gm",
                                 "mxster: over\b\b\b\b\b\b\b\b\b\b\bu",
                                 "xuster: over\x1b[12Dm",
                                 "xmuster: over\r\x1b[P",
                                 "uster: over\r\x1b[@m",
                                 "mXuster: over\r\x1b[C\x1b[P",
                                 "muster:xover\r\x1b[7C\x1b[X",
                                 "xuster: over\r\x1b"
                                 "7m",
                                 "m\x1b"
                                 "7xster: over\x1b"
                                 "8u",
                                 "m\x1b[sxster: over\x1b[uu",
                                 "m\x1b[?1048hxster: over\x1b[?1048lu",
                                 "mxster: over\x1b[99;2Hu",
                                 "mxster: over\r\x1b[C\x1b[99Bu",
                                 "xuster: over\x1b[000000000000000000000012Dm",
                                 "xuster: over\x1b[99999999999999999999999Dm",
                                 "xuster: over\x1b[2Zm",
                                 "xuster: m\r\x1b[b",
                                 "uster: over\r\x1b[20;4hm",
                                 "\xE5\xAE\xBDster: over\rmu"}) {
    EXPECT_EQ(shown(text + "!"), text + "\r| muster: !");
  }
}

TEST(TerminalSanitizer, SeesTheContinuationOfAWrappedLine) {
  TerminalSanitizer watch;
  watch.set_width(20);
  const std::string filled = "[0] " + std::string(16, '-');
  EXPECT_EQ(watch.show(filled + "muster: over\n"), filled + "muster: \r| muster: over\n");

  const std::string wide = "[0] \xE5\xAE\xBD" + std::string(14, '-');
  EXPECT_EQ(watch.show(wide + "muster: over\n"), wide + "muster: \r| muster: over\n");
  const std::string shorter = "[0] " + std::string(15, '-') + "muster: over\n";
  EXPECT_EQ(watch.show(shorter), shorter);
}

TEST(TerminalSanitizer, KnowsTheLastColumn) {
  TerminalSanitizer watch;
  watch.set_width(20);
  EXPECT_EQ(watch.show("\x1b[99Gxmuster: over\n"), "\x1b[99Gxmuster: \r| muster: over\n");
  const std::string without_wrapping = "xuster: \x1b[?7l" + std::string(30, '-') + "\rm";
  EXPECT_EQ(watch.show(without_wrapping + "!"), without_wrapping + "\r| muster: !");
}

TEST(TerminalSanitizer, KnowsTheUsualWaysOfTheTerminal) {
  TerminalSanitizer watch;
  (void)watch.show("\x1b[4h\x1b[?7l");
  (void)watch.write_reset();
  EXPECT_EQ(watch.show("xuster: over\rm!"), "xuster: over\rm\r| muster: !");
}

TEST(TerminalSanitizer, MarksNamesOfHostsWhereTheyAreExpected) {
  TerminalSanitizer watch;
  EXPECT_EQ(watch.show("[gpu-17] muster: over\n"), "[gpu-17] muster: over\n");
  watch.expect_hosts();
  EXPECT_EQ(watch.show("[gpu-17] muster: over\n"), "[gpu-17] muster: \r| [gpu-17] muster: over\n");
  EXPECT_EQ(watch.show("[fe80::1] muster: x\n"), "[fe80::1] muster: \r| [fe80::1] muster: x\n");
  for (const std::string text : {"[1:12] muster: nested\n", "[3] muster: nested\n", "[a] b\n", "[INFO muster: x\n"}) {
    EXPECT_EQ(watch.show(text), text);
  }
}

TEST(TerminalSanitizer, MarksItWhereverItStandsBehindCharactersOfWhateverWidth) {
  for (const std::string_view before :
       {"\xE3\x85\xA4", "\xE3\x85\xA4 xx", "\xC2\xAD", "\xFF", "\xF0\x9F\x91\xA8\xE2\x80\x8D"}) {
    TerminalSanitizer watch;
    watch.set_width(20);
    const std::string shown = watch.show(std::string(before) + "x" + kForged + "\n" + "x" + kForged);
    EXPECT_EQ(shown, std::string(before) + "xmuster: \b\b\b\b\b\b\b\b| " + kForged + "\nx" + kForged);
  }
}

TEST(TerminalSanitizer, PassesOverCharactersThatMayTakeNoColumn) {
  TerminalSanitizer watch;
  EXPECT_NE(watch.show("x mus\xE3\x85\xA4ter: ").find("| muster: "), std::string::npos);
}

TEST(TerminalSanitizer, SeesItInPieces) {
  TerminalSanitizer watch;
  std::string all;
  for (const char c : std::string_view(kForged)) {
    all += watch.show({&c, 1});
  }
  EXPECT_EQ(all, kMarked);
}

TEST(TerminalSanitizer, HasNothingToDoBeforeALineBehindPlainText) {
  TerminalSanitizer watch;
  (void)watch.show("loss 0.25 \xC3\xA9\n");
  EXPECT_EQ(watch.write_reset(), "");
}

TEST(TerminalSanitizer, EndsColours) {
  TerminalSanitizer watch;
  (void)watch.show("\x1b[8m");
  EXPECT_EQ(watch.write_reset(), "\x1b[m");
  EXPECT_EQ(watch.write_reset(), "") << "once";
}

TEST(TerminalSanitizer, EndsAStringWithoutAnEnd) {
  for (const std::string start : {"\x1b]0;", "\x1bP", "\x1b_", "\xC2\x9D", "\x1b]0;x\x1b"}) {
    TerminalSanitizer watch;
    (void)watch.show(start);
    EXPECT_TRUE(watch.write_reset().starts_with("\x1b\\")) << start;
  }
}

TEST(TerminalSanitizer, BringsLettersRegionAndWrappingBack) {
  for (const std::string change : {"\x1b(0", "\x0e", "\x1b[1;2r", "\x1b[4h", "\x1b[?7l",
                                   "\x1b"
                                   "c"}) {
    TerminalSanitizer watch;
    (void)watch.show(change);
    const std::string way = watch.write_reset();
    for (const char* const usual : {"\x1b[r", "\x1b(B", "\x0f", "\x1b[4l", "\x1b[?7h", "\x1b[m"}) {
      EXPECT_NE(way.find(usual), std::string::npos) << change;
    }
  }
}

TEST(TerminalSanitizer, LeavesTheOtherScreenOnlyIfAWorkerIsStillOnIt) {
  TerminalSanitizer watch;
  (void)watch.show("\x1b[?25;1049h");
  EXPECT_TRUE(watch.write_reset().starts_with("\x1b[?1049l"));

  (void)watch.show("\x1b[?1049h");
  EXPECT_TRUE(watch.write_reset().starts_with("\x1b[?1049l"));

  (void)watch.show("\x1b[?1049h\x1b[?1049l");
  EXPECT_EQ(watch.write_reset().find("1049"), std::string::npos);
}

}  // namespace
}  // namespace muster
