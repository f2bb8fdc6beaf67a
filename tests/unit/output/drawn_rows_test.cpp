// The row of one worker that overwrites its line, and the lines that become final.
#include "output/terminal/drawn_rows.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {
namespace {

class DrawnRowsTest : public testing::Test {
 protected:
  /// The row behind these bytes.
  std::string row(std::string_view bytes) {
    rows_.feed(bytes, lines_);
    return rows_.row();
  }

  DrawnRows rows_{"[1] "};
  std::string lines_;
};

TEST_F(DrawnRowsTest, HasTheTextBehindTheLastReturn) {
  EXPECT_EQ(row("\r 10%"), "[1]  10%");
  EXPECT_EQ(row("\r 20%"), "[1]  20%");
  EXPECT_EQ(row("\r3"), "[1] 3") << "nothing of the state before shines through";
  EXPECT_EQ(lines_, "");
}

TEST_F(DrawnRowsTest, KeepsAStateThatEndsWithItsReturn) {
  EXPECT_EQ(row("10%\r"), "[1] 10%");
  EXPECT_EQ(row("\r\r"), "[1] 10%");
  EXPECT_EQ(row("20%\r"), "[1] 20%");
}

TEST_F(DrawnRowsTest, HasNoRowForBlanks) {
  EXPECT_EQ(row("\r10%"), "[1] 10%");
  EXPECT_EQ(row("\r   \r"), "");
  EXPECT_EQ(row("text\r\x1b[K"), "");
  EXPECT_EQ(row("text\x1b[2K"), "");
}

TEST_F(DrawnRowsTest, GivesOutTheLastStateOnceItHasSettled) {
  EXPECT_EQ(row("\r10%\r100%\n"), "[1] 100%") << "its bar may go on";
  rows_.settle(lines_);
  EXPECT_EQ(lines_, "");
  EXPECT_TRUE(rows_.may_settle());
  rows_.settle(lines_);

  EXPECT_EQ(lines_, "[1] 100%\n");
  EXPECT_TRUE(rows_.is_done());
  EXPECT_EQ(rows_.row(), "");
}

TEST_F(DrawnRowsTest, GivesOutTheLastStateBeforeTheNextLine) {
  EXPECT_EQ(row("\r100%\nend\n"), "");
  EXPECT_EQ(lines_, "[1] 100%\n[1] end\n");
}

TEST_F(DrawnRowsTest, GivesOutLinesAboveABar) {
  EXPECT_EQ(row("\r10%\r\x1b[Kline\n\r10%"), "[1] 10%");
  rows_.finish(lines_);
  EXPECT_EQ(lines_, "[1] line\n[1] 10%\n");
}

TEST_F(DrawnRowsTest, MakesOneRowOfNestedBars) {
  (void)row("\r 0%");
  for (const char* const part : {"1", "2", "3"}) {
    EXPECT_EQ(row("\n\rpart " + std::string(part) + "\x1b[A"), "[1] part " + std::string(part));
    rows_.settle(lines_);
  }
  EXPECT_EQ(row("\r100%"), "[1] 100%");
  EXPECT_EQ(lines_, "");

  (void)row("\n");
  rows_.finish(lines_);
  EXPECT_EQ(lines_, "[1] 100%\n");
}

TEST_F(DrawnRowsTest, KeepsAnInnerBarThatStays) {
  (void)row("\r 0%\n\rpart 1\x1b[A\rpart 1\n\r 50%\n\rpart 2\x1b[A");
  rows_.settle(lines_);
  rows_.settle(lines_);

  EXPECT_EQ(lines_, "[1] part 1\n");
}

TEST_F(DrawnRowsTest, MakesOneRowOfABarOfSeveralLines) {
  EXPECT_EQ(row("\x1b[?25lone\ntwo\n  0%"), "[1]   0%");
  const std::string lines = "[1] one\n[1] two\n";
  EXPECT_EQ(lines_, lines) << "nothing has shown yet that they are drawn anew";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(row("\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2Kone\ntwo\n 50%"), "[1]  50%");
  }
  EXPECT_EQ(lines_, lines);
  rows_.finish(lines_);
  EXPECT_EQ(lines_, lines + lines + "[1]  50%\n");
}

TEST_F(DrawnRowsTest, TakesBackWhatABackspaceDoes) {
  EXPECT_EQ(row("(Pdb) ab\b \b"), "[1] (Pdb) a");
  EXPECT_EQ(row("\xC3\xA9\b"), "[1] (Pdb) a");
  EXPECT_EQ(row("\x1b[31m\b"), "[1] (Pdb) a\x1b[31m") << "a colour is no character";
  EXPECT_EQ(row("\xBF\xBF\b\b"), "[1] (Pdb) a\x1b[31m") << "nor a part of one";
  EXPECT_EQ(row("\r|\b/\b-\b\b\b\b"), "");
}

TEST_F(DrawnRowsTest, LeavesOutWhatWouldChangeTheTerminal) {
  EXPECT_EQ(row("\ra\x1b[?25l\x1b[2;3Hb\x1b]0;title\ac\x1bPq\x1b\\d\x1b(0\x1b[5Ce\x0e\x1b[6n\x1b"
                "7f\xC2\x9B"
                "3Cg"),
            "[1] abcdefg");
}

TEST_F(DrawnRowsTest, EndsAStringWithItsLine) {
  (void)row("\ra\x1b]0;title\nb\n");
  EXPECT_EQ(lines_, "[1] a\n[1] b\n");
}

TEST_F(DrawnRowsTest, KeepsColoursAndEndsThemWithTheLine) {
  EXPECT_EQ(row("\r\x1b[1;31mred"), "[1] \x1b[1;31mred");
  (void)row("\n\x1b[32mgreen\x1b[0m\n");
  EXPECT_EQ(lines_, "[1] \x1b[1;31mred\x1b[m\n[1] \x1b[32mgreen\x1b[m\n");
}

TEST_F(DrawnRowsTest, IsPlainWhereNothingWasOverwritten) {
  (void)row("(Pdb) ");
  EXPECT_TRUE(rows_.is_plain());
  (void)row("\r(Pdb) ");
  EXPECT_FALSE(rows_.is_plain());
}

TEST_F(DrawnRowsTest, BoundsALineWithoutAnEnd) {
  const std::string part(std::size_t{1} << 20U, 'x');
  for (int i = 0; i < 17; ++i) {
    EXPECT_LE(row(i == 0 ? "\r" + part : part).size(), 10'000U);
  }
  EXPECT_EQ(lines_.size(), DrawnRows::kLongestLine + 1 + std::string("[1] \n").size());
}

TEST_F(DrawnRowsTest, EndsWithAllThatIsThere) {
  (void)row("\ra\n\rb\n  \r");
  rows_.finish(lines_);
  EXPECT_EQ(lines_, "[1] a\n[1] b\n");
  rows_.finish(lines_);
  EXPECT_EQ(lines_, "[1] a\n[1] b\n");
}

TEST_F(DrawnRowsTest, DrawsTheSameHoweverTheBytesAreTorn) {
  const std::string bytes =
      "\r10%\x1b[31m\xE5\xAE\xBD\x1b[m\n\rpart\x1b[A\r20%\x1b]0;t\a\xF0\x9F\x9A\x80\b\nline\r\n\rlast\xC3\xA9";
  const std::string whole = row(bytes);
  EXPECT_EQ(whole, "[1] last\xC3\xA9");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    DrawnRows torn("[1] ");
    std::string lines;
    torn.feed(bytes.substr(0, cut), lines);
    (void)torn.row();
    torn.feed(bytes.substr(cut), lines);
    EXPECT_EQ(torn.row(), whole) << cut;
    EXPECT_EQ(lines, lines_) << cut;
  }
}

}  // namespace
}  // namespace muster
