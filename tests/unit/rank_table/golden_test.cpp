// Tables as platforms write them, in every form, beside what workers get; tables that break one rule each; and
// tables that are too large for files.
#include "golden/large_tables.hpp"
#include "rank_table/read.hpp"
#include "rank_table/rewrite.hpp"
#include "rank_table/tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace muster::rank_table {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::vector<fs::path> tables_in(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(RANK_TABLES) / folder)) {
    if (entry.path().extension() == ".json") {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_FALSE(paths.empty());
  return paths;
}

Table table_of(const std::string& text) {
  Reading reading = read(text, "hccl.json");
  if (const auto* error = std::get_if<Error>(&reading)) {
    ADD_FAILURE() << error->message;
    return {};
  }
  return std::get<Table>(std::move(reading));
}

/// Server and device of each rank, which no conversion may change.
std::map<int, std::string> ranks_of(const Table& table) {
  std::map<int, std::string> ranks;
  for (const Instance& instance : table.instances) {
    for (const Device& device : instance.devices) {
      ranks[device.rank] =
          instance.server_id + " " + std::to_string(device.id) + " " + device.addresses + " " + device.super_device_id;
    }
  }
  return ranks;
}

std::map<std::string, std::vector<std::string>> super_pods_of(const Table& table) {
  std::map<std::string, std::vector<std::string>> pods;
  for (const SuperPod& pod : table.super_pods) {
    pods[pod.id] = pod.server_ids;
  }
  return pods;
}

/// Expects that a converted table has the ranks of its origin and converts to itself, and that a table written from
/// it has them, too.
void expect_round_trip(const Table& table, const std::string& canonical) {
  const Table again = table_of(canonical);
  EXPECT_EQ(rewrite(canonical, again), canonical);
  EXPECT_EQ(ranks_of(again), ranks_of(table));
  EXPECT_EQ(super_pods_of(again), super_pods_of(table));
  EXPECT_EQ(ranks_of(table).size(), static_cast<std::size_t>(table.size));
  if (table.form != Form::Version2) {  // which names no servers
    const Table written = table_of(write(table));
    EXPECT_EQ(ranks_of(written), ranks_of(table));
    EXPECT_EQ(super_pods_of(written), super_pods_of(table));
    EXPECT_EQ(written.instances.size(), again.instances.size());
  }
}

void expect_conversion(const std::string& text, const std::string& expected) {
  const Table table = table_of(text);

  const std::string canonical = rewrite(text, table);

  EXPECT_EQ(canonical, expected);
  expect_round_trip(table, canonical);
  EXPECT_TRUE(check(text).empty()) << describe(check(text).front());
  EXPECT_TRUE(check(canonical).empty()) << describe(check(canonical).front());
  EXPECT_TRUE(inspect(canonical, "t").notices.empty());
}

TEST(GoldenRankTables, AreConvertedByteForByte) {
  for (const fs::path& path : tables_in("good")) {
    SCOPED_TRACE(path.filename().string());
    fs::path expected = path;
    expected.replace_extension(".expected");
    expect_conversion(content_of(path), content_of(expected));
  }
}

TEST(GoldenRankTables, BreakTheRulesThatTheyAreNamedAfter) {
  std::string found;
  for (const fs::path& path : tables_in("broken")) {
    Rules rules;
    rules.needs_addresses = path.stem().string().ends_with("with-roce");
    for (const Breach& breach : check(content_of(path), rules)) {
      found += path.stem().string() + ": " + describe(breach) + "\n";
    }
  }
  EXPECT_EQ(found, content_of(fs::path(RANK_TABLES) / "broken" / "expected.txt"));
}

TEST(GoldenRankTables, AreConvertedInEveryFormWhenTheyAreLarge) {
  const golden::Shape shape;
  const std::string version1 = golden::version1(shape);
  const std::string super_pods = golden::super_pods(shape);
  const std::string version2 = golden::version2(shape);
  expect_conversion(golden::groups(shape, 1), version1);
  expect_conversion(golden::groups(shape, 2), version1);
  expect_conversion(golden::standard(shape), version1);
  expect_conversion(version1, version1);
  expect_conversion(super_pods, super_pods);
  expect_conversion(version2, version2);
  EXPECT_EQ(table_of(golden::groups(shape, 2)).instances.size(), 128U);
  EXPECT_EQ(table_of(super_pods).super_pods.size(), 2U);
  EXPECT_EQ(table_of(version2).instances.size(), 64U);
}

/// Ranks that are given anew are those that are read, and giving the old ones again brings back every byte.
TEST(GoldenRankTables, ComeBackFromOtherRanks) {
  for (const fs::path& path : tables_in("good")) {
    SCOPED_TRACE(path.filename().string());
    const std::string text = content_of(path);
    const Table table = table_of(text);
    std::vector<int> ranks;
    Changes turned;
    for (const Instance& instance : table.instances) {
      for (const Device& device : instance.devices) {
        ranks.push_back(device.rank);
        turned.ranks.push_back(table.size - 1 - device.rank);
      }
    }

    const std::string other = rewrite(text, table, turned);

    const Table again = table_of(other);
    for (const auto& [rank, device] : ranks_of(table)) {
      EXPECT_EQ(ranks_of(again)[table.size - 1 - rank], device);
    }
    EXPECT_EQ(other == rewrite(text, table), table.size == 1);
    if (table.form != Form::Groups && table.form != Form::Standard) {  // in the order of the text
      EXPECT_EQ(rewrite(other, again, {ranks, {}}), rewrite(text, table));
    }
  }
}

TEST(GoldenRankTables, AreTornWhereverTheyEnd) {
  for (const fs::path& path : tables_in("good")) {
    const std::string text = content_of(path);
    for (std::size_t length = 0; length + 2 < text.size(); length += 17) {
      ASSERT_TRUE(std::holds_alternative<Unfinished>(read(text.substr(0, length), "hccl.json")))
          << path << " of " << length << " bytes";
    }
  }
}

}  // namespace
}  // namespace muster::rank_table
