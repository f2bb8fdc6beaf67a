// ROUTE_PLAN on a node: the platform's plan comes first, and some jobs have none.
#include "rank_table/table_input.hpp"
#include "rank_table/tables.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace muster {
namespace {

using rank_table::numbered_table;
using rank_table::RouteRequest;

const FileContent kMissing{"", ENOENT};

RouteRequest request() {
  RouteRequest one;
  one.topology_file = "/t";
  return one;
}

rank_table::RouteVote vote_of(const std::variant<RouteFinding, Pending>& answer) {
  const auto* const finding = std::get_if<RouteFinding>(&answer);
  EXPECT_NE(finding, nullptr) << std::get_if<Pending>(&answer)->reason;
  return finding == nullptr ? rank_table::RouteVote() : finding->vote;
}

std::string awaited(const std::variant<RouteFinding, Pending>& answer) {
  const auto* const pending = std::get_if<Pending>(&answer);
  return pending == nullptr ? "nothing" : pending->reason;
}

TEST(JudgeRoute, OfFewServersNeedsNoTopology) {
  const auto vote = vote_of(judge_route(request(), numbered_table(2, 8), 1, {kMissing, kMissing}));
  EXPECT_EQ(vote.reason, "a route plan is for jobs of at least 3 servers, and this job has 2");
  EXPECT_EQ(vote.instance, 1);
}

TEST(JudgeRoute, WaitsForTheTopology) {
  EXPECT_EQ(awaited(judge_route(request(), numbered_table(3, 8), 0, {kMissing, kMissing})), "topology '/t': missing");
  EXPECT_EQ(awaited(judge_route(request(), numbered_table(3, 8), 0, {kMissing, {"H4sI"}})), "topology '/t': torn");
  EXPECT_EQ(awaited(judge_route(request(), numbered_table(3, 8), 0, {kMissing, {""}})), "topology '/t': empty");
}

TEST(JudgeRoute, LeavesATopologyThatCannotBeUsed) {
  EXPECT_EQ(vote_of(judge_route(request(), numbered_table(3, 8), 0, {kMissing, {"bm8gZ3ppcA=="}})).reason,
            "the topology '/t' has an unknown form: it is no base64 of what gzip packs");
  EXPECT_EQ(vote_of(judge_route(request(), numbered_table(3, 8), 0, {kMissing, {"", EACCES}})).reason,
            "cannot read the topology '/t': Permission denied");
}

TEST(JudgeRoute, ThePlatformsPlanComesFirst) {
  RouteRequest placed = request();
  placed.position = 2;
  placed.first = 1;
  const auto by_place = vote_of(judge_route(placed, numbered_table(3, 8), 0, {kMissing, kMissing}));
  EXPECT_EQ(by_place.position, 2);
  EXPECT_EQ(by_place.first, 1);
  const auto torn = vote_of(judge_route(placed, numbered_table(3, 8), 0, {{"{"}, kMissing}));
  EXPECT_EQ(torn.reason.substr(0, 43), "the planned table 'jobstart_routeplan.json'");
  EXPECT_FALSE(torn.position);
}

}  // namespace
}  // namespace muster
