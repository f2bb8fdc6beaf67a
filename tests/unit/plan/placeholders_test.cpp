// Filling {placeholders}; which ones a template may use is checked in mode/read_template_test.cpp.
#include <muster/plan/launch_plan.hpp>

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string filled(const std::string& text) {
  return fill_placeholders(text, {{"a", "1"}, {"rank", "17"}, {"empty", ""}, {"tricky", "{a}}}{"}});
}

TEST(FillPlaceholders, ReplacesEachOne) {
  EXPECT_EQ(filled("{a}"), "1");
  EXPECT_EQ(filled("x{a}y{rank}{a}z"), "x1y171z");
  EXPECT_EQ(filled("[{empty}]"), "[]");
  EXPECT_EQ(filled(""), "");
  EXPECT_EQ(filled("plain"), "plain");
}

TEST(FillPlaceholders, MakesBracesOfDoubledOnes) {
  EXPECT_EQ(filled("{{}}"), "{}");
  EXPECT_EQ(filled("{{a}}"), "{a}");
  EXPECT_EQ(filled("{{\"rank\": {rank}}}"), "{\"rank\": 17}");
  EXPECT_EQ(filled("{{{a}}}"), "{1}");
}

TEST(FillPlaceholders, LeavesWhatItDoesNotKnowForLater) {
  EXPECT_EQ(filled("{worker_port}"), "{worker_port}");
  EXPECT_EQ(filled("{run_dir}/error_{rank}.json"), "{run_dir}/error_17.json");
  EXPECT_EQ(filled("{{\"port\": {worker_port}}}"), "{\"port\": {worker_port}}");
  EXPECT_EQ(filled("{worker_port}{worker_port}"), "{worker_port}{worker_port}");
}

TEST(FillPlaceholders, LooksAtNoValueAgain) {
  EXPECT_EQ(filled("{tricky}"), "{a}}}{");
}

TEST(FillPlaceholders, SurvivesBracesWithoutPartners) {
  EXPECT_EQ(filled("{"), "{");
  EXPECT_EQ(filled("}"), "}");
  EXPECT_EQ(filled("{a"), "{a");
  EXPECT_EQ(filled("a}"), "a}");
  EXPECT_EQ(filled("{}"), "{}");
}

}  // namespace
}  // namespace muster
