#include "preflight/host_facts.hpp"

#include "base/file_io.hpp"
#include "base/text.hpp"
#include "preflight/fleet.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace muster::preflight {
namespace {

TEST(Facts, AreReadAsTheyWereWritten) {
  Random random(3);
  const Facts facts = healthy_node(random);
  const std::string line = to_line(facts);
  const Facts read = parse_facts(line);

  EXPECT_EQ(read.texts, facts.texts);
  EXPECT_EQ(read.sets, facts.sets);
  for (const auto& [name, number] : facts.numbers) {
    EXPECT_DOUBLE_EQ(read.numbers.at(name), number) << name;
  }
  EXPECT_LT(line.size(), 2'048U);
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Facts, FitIntoTheirLine) {
  Facts facts;
  for (const FactRow& row : fact_rows()) {
    if (row.compare == Compare::Equal) {
      facts.texts[row.name] = std::string(10'000, '"');
    } else if (row.compare == Compare::Set) {
      for (std::size_t i = 0; i < kMostEntries; ++i) {
        facts.sets[row.name][std::to_string(i) + std::string(200, 'n')] = std::string(200, '\\');
      }
    } else {
      facts.numbers[row.name] = 1e17 / 3;
    }
  }
  const std::string line = to_line(facts);
  const Facts read = parse_facts(line);

  EXPECT_LE(line.size(), kMostLineBytes);
  EXPECT_EQ(read.texts.size(), facts.texts.size()) << "a text that is left out would be a difference";
  EXPECT_EQ(read.numbers.size(), facts.numbers.size());
  EXPECT_TRUE(read.sets.empty()) << "no set is cut";
}

TEST(Facts, HaveNoSetWithTooManyEntries) {
  Facts facts;
  for (std::size_t i = 0; i <= kMostEntries; ++i) {
    facts.sets["port"][std::to_string(i)] = "1";
  }
  EXPECT_EQ(to_line(facts), "{}");
}

TEST(Facts, LeaveOutWhatIsNoFact) {
  EXPECT_TRUE(parse_facts("").is_empty());
  EXPECT_TRUE(parse_facts("[]").is_empty());
  EXPECT_TRUE(parse_facts(R"({"kernel":1,"memory":"2","clock":-3,"port":[],"later":"4","driver":""})").is_empty());
  EXPECT_TRUE(parse_facts(R"({"memory":1e999,"kernel":"6.1"})").is_empty());
  const Facts facts = parse_facts(R"({"kernel":"6.1","port":{"a":"1","b":2,"c":null}})");
  EXPECT_EQ(facts.texts.at("kernel"), "6.1");
  EXPECT_EQ(facts.sets.at("port"), (Facts::Set{{"a", "1"}}));
}

TEST(Facts, AreDescribedForPeople) {
  const Facts facts =
      parse_facts(R"({"driver":"580.95","memory":540000000000,"open files":1e18,"port":{"a":"1 Gb/s","b":"down"}})");
  std::string text;
  for (const FactRow& row : fact_rows()) {
    if (const std::string value = describe_fact(row, facts); !value.empty()) {
      text += std::string(row.name) + "=" + value + ";";
    }
  }
  EXPECT_EQ(text, "driver=580.95;memory=502.9 GiB;open files=no limit;port=a 1 Gb/s, b down;");
}

/// As docs/preflight.md has it: "equal", "at most 2 % less", "at least 1.0 GiB", "within 1 s", "the same set".
std::string describe_comparison(const FactRow& row) {
  constexpr int kPercent = 100;
  switch (row.compare) {
    case Compare::Equal:
      return "equal";
    case Compare::Amount:
      return "at most " + std::to_string(static_cast<int>(std::lround(row.tolerance * kPercent))) + " % less" +
             (std::isinf(row.enough) ? "" : ", or at least " + describe_number(row, row.enough)) +
             (row.enough_beside.empty() ? "" : ", or than `" + std::string(row.enough_beside) + "`");
    case Compare::Floor:
      return "at least " + describe_number(row, row.tolerance);
    case Compare::Clock:
      return "within " + std::to_string(static_cast<int>(row.tolerance)) + " s";
    case Compare::Set:
      return "the same set";
  }
  return {};
}

/// The first two columns of the page's table: a fact, and how it is compared.
TEST(Facts, StandInTheTableOfTheirPage) {
  std::string rows;
  bool is_table = false;
  for (const std::string& line : split(read_regular_file(PREFLIGHT_PAGE).value_or(""), '\n')) {
    is_table = line.starts_with("| Fact |") || (is_table && line.starts_with("|"));
    if (const auto cells = split(line, '|'); is_table && cells.size() > 3 && line.find("`") != std::string::npos) {
      rows += std::string(trim(cells[1])) + " " + std::string(trim(cells[2])) + "\n";
    }
  }
  std::string expected;
  for (const FactRow& row : fact_rows()) {
    expected += "`" + std::string(row.name) + "` " + describe_comparison(row) + "\n";
  }
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace muster::preflight
