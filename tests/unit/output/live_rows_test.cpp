// Rows of several workers at the foot of a terminal: the bytes that erase and draw them.
#include "output/terminal/drawn_rows.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

/// Draws one row on a terminal of 24 rows.
std::string drawn(const std::string& row, std::size_t columns) {
  LiveRows live;
  live.set_size(24, columns);
  live.set(0, row);
  return live.draw();
}

TEST(LiveRows, DrawsNothingForNothing) {
  LiveRows live;
  live.set(0, "");

  EXPECT_FALSE(live.is_outdated());
  EXPECT_EQ(live.erase(), "");
  EXPECT_EQ(live.draw(), "");
}

TEST(LiveRows, DrawsRowsInTheOrderOfWorkers) {
  LiveRows live;
  live.set(1, "b");
  live.set(0, "a");
  EXPECT_TRUE(live.is_outdated());

  EXPECT_EQ(live.draw(), "a\nb\n");
  EXPECT_FALSE(live.is_outdated());
  EXPECT_EQ(live.erase(), "\r\x1b[2A\x1b[J");
  EXPECT_TRUE(live.is_outdated()) << "they are to be drawn again";
  EXPECT_EQ(live.erase(), "");
}

TEST(LiveRows, IsNotOutdatedByTheSame) {
  LiveRows live;
  live.set(0, "a");
  (void)live.draw();
  live.set(0, "a");

  EXPECT_FALSE(live.is_outdated());
}

TEST(LiveRows, TakesAwayTheOneOfAWorkerThatHasNone) {
  LiveRows live;
  live.set(0, "a");
  (void)live.draw();
  live.set(0, "");

  EXPECT_TRUE(live.is_outdated());
  EXPECT_EQ(live.erase(), "\r\x1b[1A\x1b[J");
  EXPECT_FALSE(live.is_outdated());
  EXPECT_EQ(live.draw(), "");
}

TEST(LiveRows, DrawsNothingInTheBackground) {
  LiveRows live;
  live.set(0, "a");
  (void)live.draw();

  live.leave();
  live.set(0, "aa");
  EXPECT_FALSE(live.is_outdated());
  EXPECT_EQ(live.erase(), "") << "what stands there is the shell's";

  live.come_back();
  EXPECT_TRUE(live.is_outdated());
  EXPECT_EQ(live.draw(), "aa\n");
}

TEST(LiveRows, DrawsEightAndSaysHowManyMoreThereAre) {
  LiveRows live;
  live.set_size(60, 80);
  for (std::size_t worker = 0; worker < 20; ++worker) {
    live.set(worker, "bar");
  }

  EXPECT_EQ(live.draw(), "bar\nbar\nbar\nbar\nbar\nbar\nbar\nbar\n... 12 more\n");
  EXPECT_EQ(live.erase(), "\r\x1b[9A\x1b[J");
}

TEST(LiveRows, TakesAtMostHalfOfALowTerminal) {
  LiveRows live;
  live.set_size(8, 80);
  for (std::size_t worker = 0; worker < 8; ++worker) {
    live.set(worker, "bar");
  }

  EXPECT_EQ(live.draw(), "bar\nbar\nbar\n... 5 more\n");
}

TEST(LiveRows, CutsARowAtTheWidth) {
  EXPECT_EQ(drawn("[0] 50%", 7), "[0] 50%\n");
  EXPECT_EQ(drawn("[0] 50%", 6), "[0] 50\n");
  EXPECT_EQ(drawn("[0] 50%", 0), "[0] 50%\n") << "of unknown width";
  EXPECT_EQ(drawn("a\tb", 80), "a b\n") << "a tab could go beyond the width";
}

TEST(LiveRows, CutsNoWideCharacterAndNoneThatIsDrawnOverAnother) {
  const std::string wide = "\xE5\xAE\xBD";
  EXPECT_EQ(drawn(wide + wide + wide, 6), wide + wide + wide + "\n");
  EXPECT_EQ(drawn(wide + wide + wide, 5), wide + wide + "\n");
  EXPECT_EQ(drawn("e\xCC\x81" + wide, 1), "e\xCC\x81\n");
}

TEST(LiveRows, CountsBytesThatAreNoCharacter) {
  EXPECT_EQ(drawn("50% \xE2\x96", 10), "50% \xEF\xBF\xBD\xEF\xBF\xBD\n");
  EXPECT_EQ(drawn("50% \xE2\x96", 5), "50% \xEF\xBF\xBD\n");
}

TEST(LiveRows, EndsColours) {
  EXPECT_EQ(drawn("\x1b[31mred", 10), "\x1b[31mred\x1b[m\n");
  EXPECT_EQ(drawn("\x1b[31mred\x1b[m and", 20), "\x1b[31mred\x1b[m and\n");
  EXPECT_EQ(drawn("\x1b[31mred\x1b[m", 2), "\x1b[31mre\x1b[m\n");
}

TEST(LiveRows, IsDrawnAnewWhereTheTerminalHasAnotherSize) {
  LiveRows live;
  live.set_size(24, 10);
  live.set(0, "0123456789");
  live.set(1, "short");
  (void)live.draw();

  live.set_size(24, 20);
  EXPECT_TRUE(live.is_outdated());
  EXPECT_EQ(live.erase(), "\r\x1b[2A\x1b[J");
  EXPECT_EQ(live.draw(), "0123456789\nshort\n");
}

TEST(LiveRows, ErasesWhatANarrowerTerminalHasBroken) {
  LiveRows live;
  live.set_size(24, 10);
  live.set(0, "0123456789");
  live.set(1, "short");
  (void)live.draw();

  live.set_size(24, 4);
  EXPECT_TRUE(live.is_outdated());
  EXPECT_EQ(live.erase(), "\r\x1b[5A\x1b[J") << "three rows and two";
  EXPECT_EQ(live.draw(), "0123\nshor\n");
  EXPECT_EQ(live.erase(), "\r\x1b[2A\x1b[J") << "the next ones are right again";
}

}  // namespace
}  // namespace muster
