// Rows that a worker draws on its terminal, and the lines that are printed of them.
#include "output/drawn_rows.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {
namespace {

using Rows = std::vector<std::string>;

/// A worker's terminal of 10 rows of 20 columns.
class DrawnRowsTest : public testing::Test {
 protected:
  DrawnRowsTest() { rows_.set_size(10, 20); }

  /// The rows after these bytes.
  Rows draw(std::string_view bytes) {
    rows_.feed(bytes, lines_);
    return rows_.shown(false).rows;
  }

  /// Long enough for rows that were left.
  void wait() {
    rows_.settle(lines_);
    rows_.settle(lines_);
  }

  DrawnRows rows_{"[1] "};
  std::string lines_;
};

TEST_F(DrawnRowsTest, WritesABarOverItself) {
  EXPECT_EQ(draw("\r 10%"), Rows{"[1]  10%"});
  EXPECT_EQ(draw("\r 20%"), Rows{"[1]  20%"});
  EXPECT_EQ(lines_, "");
}

TEST_F(DrawnRowsTest, PrintsAFinishedBarAfterItSettled) {
  EXPECT_EQ(draw("\r100%\n"), Rows{"[1] 100%"});
  EXPECT_TRUE(rows_.may_settle());
  rows_.settle(lines_);
  EXPECT_EQ(lines_, "");

  rows_.settle(lines_);

  EXPECT_EQ(lines_, "[1] 100%\n");
  EXPECT_TRUE(rows_.is_done());
}

TEST_F(DrawnRowsTest, KeepsBarsBelowEachOtherApart) {
  draw("\router 0%");
  for (const std::string percent : {"10%", "20%"}) {
    draw("\n");
    draw("\rinner " + percent);
    EXPECT_EQ(draw("\x1b[A"), (Rows{"[1] outer 0%", "[1] inner " + percent}));
  }
  wait();
  EXPECT_EQ(lines_, "") << "the cursor is in the first row";
  EXPECT_FALSE(rows_.may_settle());

  draw("\router 50%");
  EXPECT_EQ(draw("\n\r         \r\x1b[A"), Rows{"[1] outer 50%"}) << "the inner one is wiped out";
}

TEST_F(DrawnRowsTest, WaitsForAWorkerInterruptedBetweenTwoBars) {
  draw("\router 0%\n\rinner");
  rows_.settle(lines_);
  draw("\x1b[A\router 1%");
  draw("\n\rinner 1");
  rows_.settle(lines_);

  EXPECT_EQ(lines_, "");
}

TEST_F(DrawnRowsTest, PrintsLinesWrittenAboveARunningBar) {
  draw("\r10%");
  draw("\r   \rwritten\n\r20%");
  rows_.settle(lines_);
  draw("\r30%");
  rows_.settle(lines_);

  EXPECT_EQ(lines_, "[1] written\n");
  EXPECT_EQ(draw("\r40%"), Rows{"[1] 40%"});
}

TEST_F(DrawnRowsTest, PrintsLinesAboveAPrompt) {
  draw("\r100%\n");
  rows_.settle_before_prompt(lines_);
  EXPECT_EQ(lines_, "");

  draw("Name: ");
  rows_.settle_before_prompt(lines_);
  EXPECT_EQ(lines_, "[1] 100%\n");
}

TEST_F(DrawnRowsTest, KeepsRowsOfAWorkerThatHidesTheCursor) {
  draw("\x1b[?25l");
  draw("one\ntwo");
  rows_.settle(lines_);
  EXPECT_EQ(draw("\r\x1b[2K\x1b[1A\x1b[2Kone.\ntwo."), (Rows{"[1] one.", "[1] two."}));
  EXPECT_EQ(lines_, "");

  draw("\r\x1b[2K\x1b[1A\x1b[2Kprinted\none..\ntwo..");
  EXPECT_EQ(lines_, "") << "it may go up to that";
  EXPECT_EQ(draw("\r\x1b[2K\x1b[1A\x1b[2Kone..."), Rows{"[1] one..."});
  EXPECT_EQ(lines_, "[1] printed\n");

  draw("\ntwo...\n\x1b[?25h");
  wait();
  EXPECT_EQ(lines_, "[1] printed\n[1] one...\n[1] two...\n");
  EXPECT_TRUE(rows_.is_done());
}

TEST_F(DrawnRowsTest, GivesOutAtOnceWhatNothingWasDrawnIn) {
  draw("Name: ");
  EXPECT_TRUE(rows_.is_plain());

  EXPECT_EQ(draw("Eve\nnext"), Rows{"[1] next"});
  EXPECT_EQ(lines_, "[1] Name: Eve\n");
}

TEST_F(DrawnRowsTest, LetsALineBeEdited) {
  EXPECT_EQ(draw("(Pdb) abc\b\b\x1b[Kx"), Rows{"[1] (Pdb) ax"});
  EXPECT_EQ(draw("\x1b[2D\x1b[1@y\x1b[C\x1b[P"), Rows{"[1] (Pdb) ya"});
  EXPECT_EQ(rows_.shown(true).cursor->before, "[1] (Pdb) ya");
}

TEST_F(DrawnRowsTest, HasTheCursorBehindABlank) {
  draw("(Pdb) ");

  EXPECT_EQ(rows_.shown(true).rows, Rows{"[1] (Pdb)"});
  EXPECT_EQ(rows_.shown(true).cursor, (CursorPlace{.row = 0, .before = "[1] (Pdb) "}));
}

TEST_F(DrawnRowsTest, GoesNeverBeforeItsFirstRow) {
  EXPECT_EQ(draw("a\x1b[99A\x1b[99D\x1b[Hb"), Rows{"[1] b"});
}

TEST_F(DrawnRowsTest, LosesARowThatLeavesTheWorkersTerminal) {
  for (int i = 1; i <= 11; ++i) {
    draw("\r" + std::to_string(i) + "\n");
  }

  EXPECT_EQ(lines_, "[1] 1\n[1] 2\n");
  EXPECT_EQ(rows_.shown(false).rows.size(), 9U);
}

TEST_F(DrawnRowsTest, BreaksALongLineAndGivesItOutWhole) {
  const std::string text(45, 'x');
  EXPECT_EQ(draw("\r" + text).size(), 3U);
  EXPECT_EQ(rows_.shown(false).rows[0], "[1] " + std::string(20, 'x'));

  draw("\n");
  wait();

  EXPECT_EQ(lines_, "[1] " + text + "\n");
}

TEST_F(DrawnRowsTest, KeepsColours) {
  EXPECT_EQ(draw("\r\x1b[1m\x1b[31mred\x1b[0m plain"), Rows{"[1] \x1b[0;1;31mred\x1b[m plain"});
  EXPECT_EQ(draw("\r\x1b[38;2;1;0;3;4mab\x1b[0;32mc\x1b[m"), Rows{"[1] \x1b[0;38;2;1;0;3;4mab\x1b[0;32mc\x1b[m plain"});
}

TEST_F(DrawnRowsTest, TakesWideCharactersAndThoseOverOthers) {
  EXPECT_EQ(draw("\r\xE4\xB8\xAD"
                 "e\xCC\x81"),
            Rows{"[1] \xE4\xB8\xAD"
                 "e\xCC\x81"});
  EXPECT_EQ(draw("\rx"), Rows{"[1] x e\xCC\x81"}) << "half of a wide one is none";
}

TEST_F(DrawnRowsTest, LeavesOutWhatWouldChangeTheTerminal) {
  EXPECT_EQ(draw("\ra\x1b[?2004h\x1b[2J\x1b[6n\x1b"
                 "c\x1b]0;title\a\x1b(0\x0e\v\f\x1b[99;99Hb"),
            Rows{"[1] ab"});
}

TEST_F(DrawnRowsTest, EndsWithAllThatIsThere) {
  draw("\x1b[?25l\rone\ntwo");
  rows_.finish(lines_);

  EXPECT_EQ(lines_, "[1] one\n[1] two\n");
  EXPECT_TRUE(rows_.shown(true).rows.empty());
}

TEST_F(DrawnRowsTest, DrawsTheSameHoweverTheBytesAreTorn) {
  const std::string bytes = "\r\x1b[31m10%\x1b[m\n\r20%\x1b[1A\rx\x1b[2K\xE4\xB8\xAD\n\nplain\r\nend\x1b[2D\x1b[K";
  const Rows whole = draw(bytes);
  DrawnRows torn("[1] ");
  torn.set_size(10, 20);
  std::string lines;
  for (const char& c : bytes) {
    torn.feed({&c, 1}, lines);
  }

  EXPECT_EQ(torn.shown(false).rows, whole);
  EXPECT_EQ(lines, lines_);
}

}  // namespace
}  // namespace muster
