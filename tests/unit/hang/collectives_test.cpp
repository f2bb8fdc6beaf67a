#include "hang/collectives.hpp"

#include <gtest/gtest.h>

namespace muster::hang {
namespace {

/// A group by the first of its ranks.
GroupProgress in(const std::string& group, int first, std::int64_t enqueued, std::int64_t completed) {
  return {group, group, {first}, enqueued, completed, enqueued > completed ? "all_gather" : ""};
}

/// Launched counts alone, as NCCL RAS shows them.
GroupProgress launched(const std::string& group, std::int64_t count) {
  return {group, "", {}, count, -1, ""};
}

std::vector<RankProgress> job_of(int size, const GroupProgress& usual, const std::map<int, GroupProgress>& others) {
  std::vector<RankProgress> job;
  for (int rank = 0; rank < size; ++rank) {
    const auto other = others.find(rank);
    job.push_back({rank, {other == others.end() ? usual : other->second}});
  }
  return job;
}

TEST(Collectives, NameTheRanksThatHaveNothingPendingWhileOthersWait) {
  const auto job = job_of(16, in("dp", 0, 84'925, 84'924), {{9, in("dp", 0, 84'924, 84'924)}, {14, in("dp", 0, 7, 7)}});
  const Absent absent = find_absent(job);
  EXPECT_EQ(absent.ranks, (std::map<int, std::int64_t>{{9, 84'924}, {14, 7}}));
  EXPECT_EQ(absent.waiting, 14);
}

TEST(Collectives, NameNoRankThatWaitsElsewhere) {
  // Ranks 0-1 and 2-3 are tensor groups, 0, 2 and 1, 3 data groups. Rank 1 hangs: 0 waits for it, 2 for 0, and 3 for 1.
  const std::vector<RankProgress> job{{0, {in("tp", 0, 5, 4), in("dp", 0, 2, 2)}},
                                      {1, {in("tp", 0, 4, 4), in("dp", 1, 2, 2)}},
                                      {2, {in("tp", 2, 5, 5), in("dp", 0, 3, 2)}},
                                      {3, {in("tp", 2, 5, 5), in("dp", 1, 3, 2)}}};
  const Absent absent = find_absent(job);
  EXPECT_EQ(absent.ranks.size(), 1U);
  EXPECT_EQ(absent.ranks.begin()->first, 1);
  EXPECT_EQ(absent.waiting, 2) << "rank 2 waits for rank 0";
}

TEST(Collectives, AreComparedInTimeThatGrowsWithTheMembers) {
  constexpr int kPairs = 50'000;
  std::vector<RankProgress> job;
  for (int rank = 0; rank < 2 * kPairs; ++rank) {
    const bool waits = rank % 2 == 1;
    job.push_back({rank, {in(std::to_string(rank / 2), rank / 2 * 2, waits ? 2 : 1, 1)}});
  }
  const Absent absent = find_absent(job);
  EXPECT_EQ(absent.ranks.size(), std::size_t{kPairs});
  EXPECT_EQ(absent.waiting, kPairs);
}

TEST(Collectives, DoNotCompareGroupsOfOneNameOrOfNone) {
  const std::vector<RankProgress> job{{0, {in("dp", 0, 5, 5)}}, {1, {in("dp", 1, 6, 5)}}, {2, {in("dp", 2, 6, 6)}}};
  EXPECT_EQ(find_absent(job), Absent());
  EXPECT_EQ(find_absent(job_of(4, in("", 0, 6, 5), {{1, in("", 0, 5, 5)}})), Absent());
}

TEST(Collectives, NameTheRankThatWaitsForNobody) {
  const auto job = std::vector<RankProgress>{{0, {launched("tp", 5), launched("dp", 2)}},
                                             {1, {launched("tp", 4), launched("other dp", 2)}},
                                             {2, {launched("tp2", 5), launched("dp", 3)}},
                                             {3, {launched("tp2", 5), launched("other dp", 3)}}};
  const Absent absent = find_absent(job);
  EXPECT_EQ(absent.ranks, (std::map<int, std::int64_t>{{1, 2}}));
  EXPECT_EQ(absent.collective, "collective 3 of group 'other dp'");
}

/// Tensor groups of two neighbours, and the data groups of even and odd ranks, in which all wait in their second collective.
std::vector<RankProgress> mesh_of(int size) {
  std::vector<RankProgress> job;
  for (int rank = 0; rank < size; ++rank) {
    const int pair = rank / 2 * 2;
    GroupProgress data = in("dp", rank % 2, 2, 1);
    data.ranks.clear();
    for (int other = rank % 2; other < size; other += 2) {
      data.ranks.push_back(other);
    }
    GroupProgress tensor = in("tp", pair, 7, 7);
    tensor.ranks = {pair, pair + 1};
    job.push_back({rank, {tensor, data}});
  }
  return job;
}

/// The rank has not come to the last tensor collective, and its neighbour waits there rather than in its data group.
void stop(std::vector<RankProgress>& job, int rank) {
  const int neighbour = rank % 2 == 0 ? rank + 1 : rank - 1;
  for (const int one : {rank, neighbour}) {
    auto& groups = job[static_cast<std::size_t>(one)].groups;
    groups[0].completed = 6;
    groups[1].enqueued = groups[1].completed = 1;
  }
  job[static_cast<std::size_t>(rank)].groups[0].enqueued = 6;
}

TEST(Collectives, NameTwoRanksAtOnceAndNotTheirNeighbours) {
  auto job = mesh_of(16);
  EXPECT_EQ(find_absent(job), Absent());
  stop(job, 12);
  stop(job, 9);
  EXPECT_EQ(find_absent(job).ranks, (std::map<int, std::int64_t>{{9, 1}, {12, 1}}));
  EXPECT_EQ(find_absent(job).waiting, 14);
  EXPECT_EQ(find_absent(job).collective, "all_gather 2 of group 'dp'");
}

TEST(Collectives, NameARankThatHasToldNothing) {
  auto job = mesh_of(16);
  stop(job, 12);
  stop(job, 9);
  std::erase_if(job, [](const RankProgress& one) { return one.rank == 9; });
  EXPECT_EQ(find_absent(job, {9}).ranks, (std::map<int, std::int64_t>{{9, -1}, {12, 1}}));
  std::erase_if(job, [](const RankProgress& one) { return one.rank == 12; });
  EXPECT_EQ(find_absent(job, {9, 12}).ranks, (std::map<int, std::int64_t>{{9, -1}, {12, -1}}));
  EXPECT_EQ(find_absent(job, {9, 12}).waiting, 14);
  EXPECT_EQ(find_absent(job, {9, 12, 20}).ranks.size(), 2U) << "nobody has rank 20 in a group";
}

TEST(Collectives, NameNobodyWhereRanksWaitForEachOther) {
  const std::vector<RankProgress> two{{0, {in("a", 0, 1, 1), in("b", 0, 2, 1)}},
                                      {1, {in("a", 0, 2, 1), in("b", 0, 1, 1)}}};
  EXPECT_EQ(find_absent(two), Absent());
}

TEST(Collectives, NameNobodyWhereNumbersAreEqual) {
  EXPECT_EQ(find_absent(job_of(16, launched("dp", 5), {})), Absent());
  EXPECT_EQ(find_absent({}), Absent());
  const std::vector<RankProgress> two{{0, {launched("a", 1), launched("b", 2)}},
                                      {1, {launched("a", 2), launched("b", 1)}}};
  EXPECT_EQ(find_absent(two), Absent());
  EXPECT_EQ(find_absent(job_of(16, in("dp", 0, 4, 4), {{9, in("dp", 0, 5, 4)}})), Absent()) << "most are not named";
}

}  // namespace
}  // namespace muster::hang
