// The object of a hang in the report.
#include "agent/hang/hang_record.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

json::object answer_with(std::size_t places, std::size_t bytes) {
  json::array stacks(places, json::object{{"ranks", {1}}, {"wait", std::string(bytes, 'x')}});
  return {{"stacks", std::move(stacks)}, {"verdict", json::array()}};
}

TEST(HangDocument, HasTheLookAndThePlaces) {
  const auto hang =
      hang_document({.why = "it stands", .quiet = 61.5, .verdict = {"rank 1 is late"}}, answer_with(2, 3));

  EXPECT_EQ(json::serialize(hang), R"({"why":"it stands","quiet_s":6.15E1,"verdict":["rank 1 is late"],"stacks":)"
                                   R"([{"ranks":[1],"wait":"xxx"},{"ranks":[1],"wait":"xxx"}]})");
}

TEST(HangDocument, IsBounded) {
  const auto hang =
      hang_document({.why = "it stands", .verdict = {std::string(10'000, 'x')}}, answer_with(1'000, 1'000));

  EXPECT_LT(json::serialize(hang).size(), 36'000U);
  EXPECT_GT(hang.at("stacks").as_array().size(), 30U);
}

TEST(HangDocument, IsMadeOfAnAnswerWithoutStacks) {
  EXPECT_EQ(hang_document({.why = "it stands"}, {}).at("stacks").as_array().size(), 0U);
}

}  // namespace
}  // namespace muster
