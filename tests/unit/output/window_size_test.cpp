// The window size of a worker's terminal.
#include "output/byte_sink.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(WindowBeside, ALineWithItsPrefixIsAsWideAsTheConsole) {
  EXPECT_EQ(window_beside(WindowSize{.rows = 50, .columns = 120}, 4), (WindowSize{.rows = 50, .columns = 116}));
}

TEST(WindowBeside, WithoutAConsoleItIsOfTheUsualSize) {
  EXPECT_EQ(window_beside(std::nullopt, 0), (WindowSize{.rows = 24, .columns = 80}));
  EXPECT_EQ(window_beside(std::nullopt, 6), (WindowSize{.rows = 24, .columns = 74}));
}

TEST(WindowBeside, AConsoleOfUnknownSizeStaysOfUnknownSize) {
  EXPECT_EQ(window_beside(WindowSize{}, 4), WindowSize{});
}

TEST(WindowBeside, APrefixThatLeavesNothingTakesNothing) {
  EXPECT_EQ(window_beside(WindowSize{.rows = 5, .columns = 30}, 40), (WindowSize{.rows = 5, .columns = 30}));
}

}  // namespace
}  // namespace muster
