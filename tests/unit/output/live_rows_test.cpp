// Rows of several workers at the bottom of a terminal.
#include "output/drawn_rows.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

ShownRows rows_of(std::vector<std::string> rows) {
  return {.rows = std::move(rows), .cursor = {}};
}

std::string drawn(LiveRows& live) {
  const std::string rows = live.draw();
  const auto path = live.path_to_cursor();
  return path ? rows + path->up + path->before : rows;
}

TEST(LiveRows, DrawsNothingForNothing) {
  LiveRows live;
  live.set(0, {});

  EXPECT_FALSE(live.is_outdated());
  EXPECT_EQ(live.erase(), "");
  EXPECT_EQ(drawn(live), "");
  EXPECT_EQ(live.leave(), "");
}

TEST(LiveRows, DrawsRowsInTheOrderOfWorkers) {
  LiveRows live;
  live.set(1, rows_of({"b"}));
  live.set(0, rows_of({"a", "aa"}));
  EXPECT_TRUE(live.is_outdated());

  EXPECT_EQ(live.draw(), "a\naa\nb\n");
  EXPECT_FALSE(live.is_outdated());
  EXPECT_EQ(live.erase(), "\r\x1b[3A\x1b[J");
  EXPECT_TRUE(live.is_outdated()) << "they are to be drawn again";
  EXPECT_EQ(live.erase(), "");
}

TEST(LiveRows, IsNotOutdatedByTheSame) {
  LiveRows live;
  live.set(0, rows_of({"a"}));
  (void)live.draw();
  live.set(0, rows_of({"a"}));

  EXPECT_FALSE(live.is_outdated());
}

TEST(LiveRows, TakesAwayThoseOfAWorkerThatHasNone) {
  LiveRows live;
  live.set(0, rows_of({"a"}));
  (void)live.draw();
  live.set(0, {});

  EXPECT_TRUE(live.is_outdated());
  EXPECT_EQ(live.erase(), "\r\x1b[1A\x1b[J");
  EXPECT_FALSE(live.is_outdated());
}

TEST(LiveRows, MovesTheCursorToTheWorkerThatReadsInput) {
  LiveRows live;
  live.set(0, {.rows = {"In [1]:", "menu"}, .cursor = {{.row = 0, .before = "In [1]: "}}});
  live.set(1, rows_of({"bar"}));

  EXPECT_EQ(drawn(live), "In [1]:\nmenu\nbar\n\x1b[3AIn [1]: ");
  EXPECT_EQ(live.erase(), "\r\x1b[J");
  (void)live.draw();
  EXPECT_EQ(live.leave(), "\r\x1b[3B");
}

TEST(LiveRows, DrawsNothingInTheBackground) {
  LiveRows live;
  live.set(0, rows_of({"a"}));
  (void)live.draw();
  EXPECT_EQ(live.leave(), "");
  live.set(0, rows_of({"b"}));
  EXPECT_FALSE(live.is_outdated());
  EXPECT_EQ(live.erase(), "") << "what was drawn is no longer ours";

  live.come_back();
  EXPECT_TRUE(live.is_outdated());
  EXPECT_EQ(live.draw(), "b\n");
}

TEST(LiveRows, SaysHowManyRowsThereIsNoRoomFor) {
  LiveRows live;
  live.set_height(8);
  for (std::size_t worker = 0; worker < 6; ++worker) {
    live.set(worker, rows_of({"bar " + std::to_string(worker)}));
  }

  EXPECT_EQ(live.draw(), "bar 0\nbar 1\nbar 2\n... 3 more rows\n");
  live.set_height(20);
  EXPECT_TRUE(live.is_outdated());
}

TEST(LiveRows, ShowsTheLastRowsOfAWorkerThatHasTooMany) {
  LiveRows live;
  live.set_height(6);
  live.set(0, rows_of({"said", "said too", "bar", "inner bar"}));

  EXPECT_EQ(live.draw(), "bar\ninner bar\n... 2 more rows\n");
}

TEST(LiveRows, KeepsARowForTheWorkerThatReadsInput) {
  LiveRows live;
  live.set_height(4);
  for (std::size_t worker = 0; worker < 5; ++worker) {
    live.set(worker, rows_of({"bar"}));
  }
  live.set(4, {.rows = {"(Pdb)"}, .cursor = {{.row = 0, .before = "(Pdb) "}}});

  EXPECT_EQ(drawn(live), "(Pdb)\n... 4 more rows\n\x1b[2A(Pdb) ");

  live.set(4, {.rows = {"(Pdb) [", "...", "...]"}, .cursor = {{.row = 1, .before = "...  "}}});
  EXPECT_EQ(live.erase(), "\r\x1b[J");
  EXPECT_EQ(drawn(live), "...\n... 6 more rows\n\x1b[2A...  ") << "the row of the cursor is seen";
}

}  // namespace
}  // namespace muster
