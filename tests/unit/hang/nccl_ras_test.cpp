// The recordings are written as NCCL's source says (src/ras/client_support.cc: jsonWriteHeader to jsonWriteFooter), of
// 2.30.7, that of a missing rank as 2.28.9 wrote it. `half` and `stopped` are what NCCL 2.28.9 answered in jobs of four
// ranks on one GPU.
#include "hang/nccl_ras.hpp"

#include "base/text.hpp"
#include "hang/evidence.hpp"
#include "hang/progress_document.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

namespace muster::hang {
namespace {

std::string answer_of(const std::string& name) {
  std::ifstream file(MUSTER_HANG_DATA "/nccl_ras/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "group of N: RANK=COUNT ..." for each group, by its first eight letters.
std::string counts_of(const std::vector<RankProgress>& progress) {
  std::map<std::string, std::string> groups;
  for (const RankProgress& rank : progress) {
    for (const GroupProgress& group : rank.groups) {
      EXPECT_EQ(group.completed, -1);
      std::string& text = groups[group.group.substr(0, 9) + " of " + describe_ranges(group.ranks)];
      text += " " + std::to_string(rank.rank) + "=" + std::to_string(group.enqueued);
    }
  }
  std::string all;
  for (const auto& [group, text] : groups) {
    all += group + ":" + text + "\n";
  }
  return all;
}

std::string counts_in(const std::string& name) {
  return counts_of(to_progress(parse_ras(answer_of(name)), 8));
}

TEST(NcclRas, ReadsTheLaunchedCollectivesOfAllRanks) {
  EXPECT_EQ(counts_in("well.json.txt"), "nccl 0x78 of 0-7: 0=65 1=65 2=65 3=65 4=65 5=65 6=65 7=65\n");
}

TEST(NcclRas, ReadsARankThatIsBehind) {
  EXPECT_EQ(counts_in("behind.json.txt"), "nccl 0x78 of 0-7: 0=65 1=65 2=65 3=65 4=65 5=65 6=65 7=61\n");
}

TEST(NcclRas, ReadsARankThatDoesNotAnswer) {
  EXPECT_EQ(counts_in("missing.json.txt"), "nccl 0x78 of 0-7: 0=65 1=65 2=65 4=65 5=65 6=65 7=65\n");
  const auto read = parse_ras(answer_of("missing.json.txt"));
  ASSERT_EQ(read.size(), 1U);
  ASSERT_EQ(read[0].missing.size(), 1U);
  EXPECT_EQ(read[0].missing[0].rank, 3);
  EXPECT_EQ(read[0].missing[0].process, (RasProcess{"10.0.0.1", 4'703}));
}

TEST(NcclRas, FindsGlobalRanksByTheProcessesOfTheWorld) {
  EXPECT_EQ(counts_in("several.json.txt"),
            "nccl 0x1a of 0, 2, 4, 6: 0=9 2=9 4=9 6=8\n"
            "nccl 0x2b of 1, 3, 5, 7: 1=0 3=0 5=0 7=0\n"
            "nccl 0x78 of 0-7: 0=65 1=65 2=65 3=65 4=65 5=65 6=65 7=65\n");
}

TEST(NcclRas, ReadsWhatARealJobAnswered) {
  const auto counts = [](const std::string& name) { return counts_of(to_progress(parse_ras(answer_of(name)), 4)); };
  EXPECT_EQ(counts("half.json.txt"),
            "nccl 0x67 of 0-3: 0=20 1=21 2=20 3=21\n"
            "nccl 0x83 of 0, 2: 0=21 2=20\n"
            "nccl 0x99 of 1, 3: 1=21 3=21\n");
  EXPECT_EQ(find_absent(to_progress(parse_ras(answer_of("half.json.txt")), 4)).ranks,
            (std::map<int, std::int64_t>{{2, 20}}));
  EXPECT_EQ(counts("stopped.json.txt"),
            "nccl 0x30 of 1, 3: 1=20 3=20\n"
            "nccl 0x67 of 0-3: 0=21 1=21 3=21\n"
            "nccl 0xb6 of 0, 2: 0=20\n");
}

TEST(NcclRas, GivesNoRanksWhereNoCommunicatorHasAll) {
  EXPECT_TRUE(to_progress(parse_ras(answer_of("several.json.txt")), 16).empty());
}

TEST(NcclRas, GivesNoRanksWhereAProcessHasSeveral) {
  std::vector<RasCommunicator> read = parse_ras(answer_of("well.json.txt"));
  read.at(0).ranks.at(1).process = read.at(0).ranks.at(0).process;
  EXPECT_EQ(counts_of(to_progress(read, 8)), "");
}

TEST(NcclRas, ReadsWhatIsThereOfATornOrForeignAnswer) {
  for (const char* const name : {"behind.json.txt", "several.json.txt", "missing.json.txt"}) {
    const std::string whole = answer_of(name);
    for (std::size_t bytes = 0; bytes < whole.size(); bytes += 7) {
      (void)to_progress(parse_ras(std::string_view(whole).substr(0, bytes)), 8);
    }
  }
  EXPECT_TRUE(parse_ras("{\"communicators\": [7, {\"size\": -1, \"ranks\": 3}, {\"size\": 1e9}]").empty());
  EXPECT_TRUE(parse_ras("HTTP/1.1 400 Bad Request\r\n\r\n").empty());
}

RasCommunicator large(int size, int behind) {
  RasCommunicator communicator{"0x1", size, {}, {}};
  for (int rank = 0; rank < size; ++rank) {
    communicator.ranks.push_back({rank, {"10.0.0.1", 1'000 + rank}, rank < behind ? 5 : 6});
  }
  return communicator;
}

TEST(NcclRas, KeepsThoseThatDifferInALargeJob) {
  const auto progress = to_progress({large(10'000, 2)}, 10'000);
  ASSERT_EQ(progress.size(), 258U);
  EXPECT_EQ(progress[1].groups.at(0).enqueued, 5);
  EXPECT_EQ(progress[2].groups.at(0).enqueued, 6);
  EXPECT_EQ(progress[2].groups.at(0).ranks.size(), 10'000U);
  EXPECT_TRUE(to_progress({large(10'000, 5'000)}, 10'000).empty());
}

TEST(NcclRas, PassesFromNodeToNode) {
  Evidence evidence;
  evidence.progress = to_progress(parse_ras(answer_of("several.json.txt")), 8);
  const auto sent = progress_document(evidence.progress, 100'000);
  EXPECT_EQ(counts_of(read_progress(sent)), counts_of(evidence.progress));
  // Groups whose ranks differ are the last to be left out.
  EXPECT_EQ(counts_of(read_progress(progress_document(evidence.progress, 230))),
            "nccl 0x1a of 0, 2, 4, 6: 0=9 2=9 4=9 6=8\n");
}

TEST(NcclRas, RefusesProgressThatWouldTakeMuchMemory) {
  const auto document = json::parse(R"([{"group":"a","ranks":"0-65535","at":[[1,-1,"","0-65535"]]}, 3,
    {"group":"b","ranks":"0-1","at":[[2,-7,"all_reduce","1"],[1],{}]}])");
  const auto progress = read_progress(document.get_array());
  ASSERT_EQ(progress.size(), 1U);
  EXPECT_EQ(progress[0].groups.at(0).operation, "all_reduce");
  EXPECT_EQ(progress[0].groups.at(0).completed, -1);
}

/// A group of which so many entries tell, with long texts.
std::vector<RankProgress> read_entries(const std::string& members, const std::string& ranks, int count) {
  const std::string text(400, 'x');
  json::array entries;
  for (int i = 0; i < count; ++i) {
    entries.push_back({1, 1, text, json::string(ranks)});
  }
  return read_progress({{{"group", text}, {"description", text}, {"ranks", members}, {"at", std::move(entries)}}});
}

TEST(NcclRas, UnfoldsNoMoreProgressThanThereIsRoomFor) {
  std::string ranges = "0-65535";
  for (int i = 0; i < 14'000; ++i) {
    ranges += ",0-65535";
  }
  EXPECT_EQ(read_entries("0-1", ranges, 1).size(), 0U) << "65536 ranks with 1,200 bytes each";
  EXPECT_EQ(read_entries(ranges, "0-1", 1).size(), 2U);
  EXPECT_EQ(read_entries("0-65535", "0-65535", 20'000).size(), 0U);
  std::size_t groups = 0;
  for (const RankProgress& rank : read_entries("", "0-999", 20'000)) {
    groups += rank.groups.size();
  }
  EXPECT_GT(groups, 1'000U);
  EXPECT_LT(groups * 1'200, 4 * kMostNumbers) << "texts count as well";
}

}  // namespace
}  // namespace muster::hang
