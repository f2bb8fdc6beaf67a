#include "hang/flight_recorder.hpp"

#include "hang/pickle.hpp"
#include "hang/verdict.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace muster::hang {
namespace {

/// Recorded in jobs of four ranks: of PyTorch 2.13.0 with gloo by torch._C._distributed_c10d._dump_fr_trace, of 2.11.0
/// with NCCL by its pipe. Paths in them were replaced by others of the same length.
std::string dump_of(const std::string& name) {
  std::ifstream file(std::string(MUSTER_HANG_DATA) + "/torch-" + name + ".bin", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<GroupProgress> progress_of(const std::string& dump) {
  const auto read = read_flight_recorder(dump);
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : std::vector<GroupProgress>();
}

/// Progress of ranks, each by its recording.
std::vector<RankProgress> job_of(const std::vector<std::string>& recordings) {
  std::vector<RankProgress> job;
  for (const std::string& name : recordings) {
    job.push_back({static_cast<int>(job.size()), progress_of(dump_of(name))});
  }
  return job;
}

// Opcodes as the C++ code of PyTorch writes them.
std::string text(const std::string& value) {
  std::string written = "X";
  for (unsigned shift = 0; shift < 32; shift += 8) {
    written += static_cast<char>(value.size() >> shift & 0xFFU);
  }
  return written + value;
}
std::string number(int value) {
  return std::string("K") + static_cast<char>(value);
}
std::string dictionary(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string written = "}(";
  for (const auto& [key, value] : pairs) {
    written += text(key) + value;
  }
  return written + "u";
}
std::string list(const std::vector<std::string>& items) {
  std::string written = "](";
  for (const std::string& item : items) {
    written += item;
  }
  return written + "e";
}
std::string pickle(const std::string& value) {
  return "\x80\x02" + value + ".";
}

std::string status(int enqueued, int completed) {
  return dictionary({{"last_enqueued_collective", number(enqueued)},
                     {"last_started_collective", number(enqueued)},
                     {"last_completed_collective", number(completed)}});
}
std::string entry(int id, const std::string& group, int sequence, bool is_p2p = false) {
  return dictionary({{"pg_id", number(id)},
                     {"process_group", text(group) + text("dp") + "\x86"},
                     {"collective_seq_id", number(sequence)},
                     {"profiling_name", text("nccl:all_gather")},
                     {"is_p2p", is_p2p ? "\x88" : "\x89"}});
}
std::string configuration(const std::string& group, const std::string& ranks) {
  return dictionary({{"name", text(group)}, {"desc", text("dp")}, {"ranks", text(ranks)}});
}

TEST(FlightRecorder, ReadsTheProgressOfARecordedRank) {
  const GroupProgress waiting{"0", "default_pg", {}, 3, 2, "all_gather"};
  EXPECT_EQ(progress_of(dump_of("2.13.0-waiting")), std::vector{waiting}) << "with frames, which are shared";
  EXPECT_EQ(progress_of(dump_of("2.13.0-absent")), (std::vector{GroupProgress{"0", "default_pg", {}, 2, 2, ""}}));
  const GroupProgress tensor{"2", "tp", {}, 1, 0, "all_reduce"};
  EXPECT_EQ(progress_of(dump_of("2.13.0-subgroup-3")).back(), tensor) << "its id in the process is 1";
}

TEST(FlightRecorder, NamesTheOneOfSixteenThatHasNotCome) {
  std::vector<std::string> recordings(16, "2.13.0-waiting");
  recordings[9] = "2.13.0-absent";
  const Absent absent = find_absent(job_of(recordings));
  EXPECT_EQ(absent, (Absent{{{9, 2}}, "all_gather 3 of group 'default_pg'", 15}));
  EXPECT_EQ(find_absent(job_of(std::vector<std::string>(16, "2.13.0-waiting"))), Absent()) << "all are equal";
}

TEST(FlightRecorder, NamesTheRankForWhichAPeerOfASmallerGroupWaits) {
  const auto job = job_of({"2.13.0-subgroup-0", "2.13.0-subgroup-0", "2.13.0-subgroup-2", "2.13.0-subgroup-3"});
  EXPECT_EQ(find_absent(job), (Absent{{{2, 2}}, "all_gather 3 of group 'default_pg'", 2}))
      << "rank 3 has not come either, but waits for rank 2";
}

TEST(FlightRecorder, NamesTheRankForWhichAHalfOfTheJobWaitsWithNccl) {
  const auto job = job_of({"2.11.0-nccl-0", "2.11.0-nccl-1", "2.11.0-nccl-2", "2.11.0-nccl-3"});
  EXPECT_EQ(find_absent(job), (Absent{{{2, 20}}, "all_reduce 21 of group 'default_pg'", 3}))
      << "rank 0 waits for it in another group";
}

TEST(FlightRecorder, NamesNobodyWhereTheNumbersOfDifferentCollectivesAreEqual) {
  EXPECT_EQ(find_absent(job_of({"2.13.0-waiting", "2.13.0-waiting", "2.13.0-waiting", "2.13.0-mismatch"})), Absent());
  EXPECT_EQ(progress_of(dump_of("2.13.0-mismatch")).front().operation, "all_reduce");
}

TEST(FlightRecorder, KnowsAGroupWithoutCollectivesByItsConfiguration) {
  const std::string groups = dictionary({{"7", configuration("7", "[4, 0]")}, {"9", configuration("9", "[0]")}});
  const auto dump = [&](const std::string& entries) {
    return pickle(dictionary({{"version", text("2.4")},
                              {"pg_config", groups},
                              {"pg_status", dictionary({{"0", status(5, 4)}})},
                              {"entries", list({entries})}}));
  };
  EXPECT_EQ(progress_of(dump(entry(0, "7", 5))), (std::vector{GroupProgress{"7", "dp", {0, 4}, 5, 4, "all_gather"},
                                                              GroupProgress{"9", "dp", {0}, 0, 0, ""}}));
  EXPECT_EQ(progress_of(dump(entry(3, "7", 5))), std::vector<GroupProgress>()) << "whose numbers they are is forgotten";
  EXPECT_EQ(progress_of(dump(entry(0, "7", 5, true))).front().group, "") << "sends are not counted alike";
}

/// A rank of eight, as NCCL's recorder tells of it.
std::string rank_of_eight(const std::string& statuses, const std::string& entries) {
  return pickle(dictionary({{"version", text("2.10")},
                            {"pg_config", dictionary({{"0", configuration("0", "[0, 1, 2, 3, 4, 5, 6, 7]")}})},
                            {"pg_status", statuses},
                            {"entries", entries}}));
}

/// The ranks that are named by their dumps alone; without a dump a rank has written none.
std::set<int> named_by(const std::vector<std::string>& dumps) {
  std::vector<RankEvidence> job;
  for (const std::string& dump : dumps) {
    RankEvidence rank{.rank = static_cast<int>(job.size()), .host = "a", .pid = 1, .place = {}};
    rank.place.state = 'S';
    rank.groups = dump.empty() ? std::vector<GroupProgress>() : progress_of(dump);
    job.push_back(rank);
  }
  const Verdict verdict = judge(job);
  return verdict.finding == Finding::Named ? std::set<int>(verdict.ranks.begin(), verdict.ranks.end())
                                           : std::set<int>();
}

// As in NVIDIA's collection of hangs: one cause stops a rank before its first entry or before it can write, and each of the others
// stands at the last collective that it could enter.
TEST(FlightRecorder, NamesBothOfTwoFaultyRanks) {
  const std::string statuses = dictionary({{"0", status(5, 4)}});
  const std::string waiting = rank_of_eight(statuses, list({entry(0, "0", 4), entry(0, "0", 5)}));
  const std::string behind = rank_of_eight(dictionary({{"0", status(4, 4)}}), list({entry(0, "0", 4)}));
  const std::string far_behind = rank_of_eight(dictionary({{"0", status(3, 3)}}), list({entry(0, "0", 3)}));
  const std::string without_entries = rank_of_eight(dictionary({{"0", status(4, 4)}}), "]");
  const std::string without_collectives = rank_of_eight("}", "]");
  const std::string none;
  const std::vector<std::string> faults{behind, far_behind, without_entries, without_collectives, none};
  for (std::size_t one = 0; one < faults.size(); ++one) {
    for (std::size_t other = 0; other < faults.size(); ++other) {
      std::vector<std::string> dumps(8, waiting);
      dumps[2] = faults[one];
      dumps[5] = faults[other];
      EXPECT_EQ(named_by(dumps), (std::set{2, 5})) << one << ' ' << other;
    }
  }
}

TEST(FlightRecorder, NamesARankBesideARecordedOneThatIsBehind) {
  const std::string without_entries = pickle(dictionary(
      {{"version", text("2.10")},
       {"pg_config", dictionary({{"0", configuration("0", "[0, 1, 2, 3]")}, {"2", configuration("2", "[1, 3]")}})},
       {"pg_status", dictionary({{"0", status(20, 20)}, {"1", status(20, 20)}})},
       {"entries", "]"}}));
  for (const std::string& dump : {without_entries, std::string()}) {
    EXPECT_EQ(named_by({dump_of("2.11.0-nccl-0"), dump, dump_of("2.11.0-nccl-2"), dump_of("2.11.0-nccl-3")}),
              (std::set{1, 2}));
  }
}

TEST(FlightRecorder, TakesLittleMemoryForRanksThatAreSharedByManyGroups) {
  std::string ranks = "[0";
  for (int rank = 1; rank < 50'000; ++rank) {
    ranks += ", " + std::to_string(rank);
  }
  std::vector<std::pair<std::string, std::string>> groups;
  for (int group = 0; group < 1'000; ++group) {
    groups.emplace_back(std::to_string(group), configuration(std::to_string(group), group == 0 ? ranks : "[0, 1]"));
  }
  const auto read = progress_of(pickle(dictionary({{"version", text("2.4")},
                                                   {"pg_config", dictionary(groups)},
                                                   {"pg_status", dictionary({})},
                                                   {"entries", list({})}})));
  EXPECT_EQ(read.size(), 1'000U);
  EXPECT_EQ(read.front().ranks.size(), 50'000U);
}

/// A dump of many groups that share a text of their ranks.
std::string sharing_dump(const std::string& ranks) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (int group = 0; group < 1'000; ++group) {
    const std::string shared = group == 0 ? text(ranks) + "q" + '\0' : std::string("h") + '\0';
    groups.emplace_back(std::to_string(group), dictionary({{"desc", text("dp")}, {"ranks", shared}}));
  }
  return pickle(dictionary({{"version", text("2.4")},
                            {"pg_config", dictionary(groups)},
                            {"pg_status", dictionary({})},
                            {"entries", list({})}}));
}

TEST(FlightRecorder, ReadsATextOnceThatManyGroupsShare) {
  std::string ranks;
  for (int number = 0; number < 260'000; ++number) {
    ranks += "-1,";  // no rank
  }
  const auto without = progress_of(sharing_dump(ranks));
  EXPECT_EQ(without.size(), 1'000U);
  EXPECT_TRUE(without.back().ranks.empty());
  const auto with = progress_of(sharing_dump("[4, 0]"));
  EXPECT_TRUE(std::ranges::all_of(with, [](const auto& group) { return group.ranks == std::vector<int>{0, 4}; }));
}

TEST(FlightRecorder, RefusesOtherFormats) {
  const std::string numbers = dictionary({{"0", status(5, 4)}});
  for (const std::string& dump : {pickle(dictionary({{"version", text("3.0")}, {"pg_status", numbers}})),
                                  pickle(dictionary({{"version", text("2.1")}})), pickle(text("2.4")), pickle("N"),
                                  std::string("garbage"), std::string(), std::string("{\"version\": \"2.4\"}")}) {
    EXPECT_FALSE(read_flight_recorder(dump)) << dump;
  }
  const auto refused = read_flight_recorder(pickle(dictionary({{"version", text("3.0")}, {"pg_status", numbers}})));
  EXPECT_EQ(
      refused.error().message,
      "the flight recorder's dump has version '3.0', 2.4 or a later 2.x with the state of its groups was expected");
}

TEST(FlightRecorder, ReadsNoPartOfADump) {
  const std::string whole = dump_of("2.13.0-waiting");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_flight_recorder(whole.substr(0, size))) << size;
  }
}

TEST(Pickle, RefusesEachOpcodeThatPlainDataDoesNotNeed) {
  std::set<int> allowed = {0x80, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a};
  for (const char opcode : std::string("().GJKMNX]aehjqrstu}")) {
    allowed.insert(opcode);
  }
  for (int opcode = 0; opcode < 256; ++opcode) {
    if (!allowed.contains(opcode)) {
      const auto read = Pickle::read(std::string("\x80\x02N") + static_cast<char>(opcode) + std::string(16, '.'));
      ASSERT_FALSE(read) << opcode;
      std::ostringstream name;
      name << "opcode 0x" << std::hex << (opcode < 16 ? "0" : "") << opcode << " at byte 3";
      EXPECT_NE(read.error().message.find(name.str()), std::string::npos) << read.error().message;
    }
  }
}

TEST(Pickle, RefusesWhatMakesNoSense) {
  using namespace std::string_literals;
  for (const std::string& bytes :
       {"."s, "\x80\x03N."s, "NN."s, "(N."s, "Na."s, "N\x86."s, "(h\0."s, "h\0."s, "q\0N."s, "Nq\1."s, "]N(e."s,
        "}(Nu."s, "}Na."s, "]NNs."s, "\x8a\x09"s + std::string(9, '\0') + ".", "X\xff\xff\xff\xff."s, "e."s, "t."s}) {
    EXPECT_FALSE(Pickle::read(bytes)) << testing::PrintToString(bytes);
  }
}

TEST(Pickle, ReadsNumbersOfEachWidth) {
  using namespace std::string_literals;
  const auto number_of = [](const std::string& bytes) { return Pickle::read(bytes + ".")->root().number; };
  EXPECT_EQ(number_of("K\xff"s), 255);
  EXPECT_EQ(number_of("M\xff\xff"s), 65'535);
  EXPECT_EQ(number_of("J\xff\xff\xff\xff"s), -1);
  EXPECT_EQ(number_of("\x8a\0"s), 0);
  EXPECT_EQ(number_of("\x8a\1\xfe"s), -2);
  EXPECT_EQ(number_of("\x8a\x08\xfe\xff\xff\xff\xff\xff\xff\xff"s), -2);
  EXPECT_EQ(number_of("\x8a\x08\1\0\0\0\0\0\0\x40"s), (std::int64_t{1} << 62) + 1);
}

TEST(Pickle, KeepsAValueThatIsSharedOnce) {
  std::string bytes = "]q";
  bytes += '\0';
  for (char level = 1; level < 100; ++level) {  // each list holds the one before twice: 2^100 values when copied
    bytes += std::string("](h") + static_cast<char>(level - 1) + "h" + static_cast<char>(level - 1) + "eq" + level;
  }
  const auto read = Pickle::read("(" + bytes + "t.");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->items(read->root()).size(), 100U);
  const std::string own = std::string("]q") + '\0' + "h" + '\0' + "a.";
  EXPECT_TRUE(Pickle::read(own)) << "a list in itself";
}

TEST(Pickle, RefusesManyOpcodes) {
  EXPECT_FALSE(Pickle::read("(" + std::string(5'000'000, 'N') + "t."));
  EXPECT_FALSE(Pickle::read("(" + std::string(1'000'000, ']') + "t.")) << "each takes more memory than its byte";
}

}  // namespace
}  // namespace muster::hang
