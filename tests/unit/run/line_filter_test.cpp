// Lines that are selected for the filtered log files.
#include "run/selection.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

Result<LineFilter> filter_of(const std::string& value) {
  return LineFilter::read({value, from_flag("--duplicate-stdout-filters")});
}

TEST(LineFilter, SelectsNothingByDefault) {
  EXPECT_TRUE(LineFilter().is_empty());
  EXPECT_TRUE(filter_of("")->is_empty());
  EXPECT_FALSE(LineFilter().matches("anything"));
}

TEST(LineFilter, SelectsLinesWithAnyOfTheTexts) {
  const LineFilter filter = *filter_of("apple,orange");

  EXPECT_TRUE(filter.matches("one apple a day\n"));
  EXPECT_TRUE(filter.matches("oranges"));
  EXPECT_FALSE(filter.matches("Apple, Orange"));
  EXPECT_FALSE(filter.matches(""));
}

TEST(LineFilter, TakesTwoCommasForOneOfATextFromTheLeft) {
  EXPECT_TRUE(filter_of("a,,b")->matches("a,b"));
  EXPECT_FALSE(filter_of("a,,b")->matches("a b"));
  EXPECT_TRUE(filter_of("a,,,b")->matches("a,"));
  EXPECT_TRUE(filter_of("a,,,b")->matches("b"));
  EXPECT_FALSE(filter_of("a,,,b")->matches("a"));
  EXPECT_TRUE(filter_of(",,")->matches("1,2"));
}

TEST(LineFilter, KeepsBlanks) {
  EXPECT_FALSE(filter_of("loss, lr")->matches("lr=1"));
  EXPECT_TRUE(filter_of("loss, lr")->matches("step 1 lr=1"));
}

TEST(LineFilter, RefusesATextOfNothingWhichWouldMeanEveryLine) {
  for (const char* const value : {",", "a,", ",a", "a,,,"}) {
    const auto filter = filter_of(value);

    ASSERT_FALSE(filter) << value;
    EXPECT_EQ(filter.error().message, "--duplicate-stdout-filters is '" + std::string(value) +
                                          "', expected texts separated by commas, with ',,' for a comma in a text");
    EXPECT_EQ(filter.error().exit_code(), 64);
  }
}

}  // namespace
}  // namespace muster
