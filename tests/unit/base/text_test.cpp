// Strict numbers, lists, suggestions and UTF-8.
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <climits>

namespace muster {
namespace {

using namespace std::string_literals;

TEST(ParseInteger, ReadsEveryPlainNumberInItsBounds) {
  for (int number = 0; number <= 1'000; ++number) {
    EXPECT_EQ(parse_integer(std::to_string(number), 0, 1'000), number);
  }
}

TEST(ParseInteger, ReadsTheLargestInteger) {
  EXPECT_EQ(parse_integer("2147483647", 0, INT_MAX), INT_MAX);
}

TEST(ParseInteger, RejectsTextThatIsNoPlainNumber) {
  for (const std::string& text :
       {""s,  " "s,  "+4"s,  "-4"s,    "-0"s,       " 4"s,    "4 "s,    "\t4"s,  "4\n"s, "4.0"s, "4e0"s, "0x4"s, "4a"s,
        "a"s, "4,"s, "4\0"s, "\0004"s, "\xD9\xA4"s, "1_000"s, "1,000"s, "four"s, "--4"s, "4-"s,  "inf"s, "nan"s}) {
    EXPECT_EQ(parse_integer(text, INT_MIN, INT_MAX), std::nullopt) << "'" << text << "'";
  }
}

TEST(ParseInteger, RejectsNumbersThatArePaddedWithZeros) {
  for (const std::string text : {"00", "01", "08", "007", "0000000000000000000004"}) {
    EXPECT_EQ(parse_integer(text, 0, INT_MAX), std::nullopt) << text;
  }
  EXPECT_EQ(parse_integer("0", 0, INT_MAX), 0);
}

TEST(ParseInteger, RejectsNumbersTooLargeForAnyInteger) {
  for (const std::string text :
       {"2147483648", "4294967296", "99999999999", "18446744073709551616", "340282366920938463463374607431768211456"}) {
    EXPECT_EQ(parse_integer(text, 0, INT_MAX), std::nullopt) << text;
  }
}

TEST(ParseInteger, ChecksBothBounds) {
  EXPECT_EQ(parse_integer("0", 1, 3), std::nullopt);
  EXPECT_EQ(parse_integer("1", 1, 3), 1);
  EXPECT_EQ(parse_integer("3", 1, 3), 3);
  EXPECT_EQ(parse_integer("4", 1, 3), std::nullopt);
}

TEST(ParseSeconds, ReadsWholeAndBrokenSeconds) {
  EXPECT_EQ(parse_seconds("0"), 0);
  EXPECT_EQ(parse_seconds("30"), 30);
  EXPECT_EQ(parse_seconds("0.5"), 0.5);
  EXPECT_EQ(parse_seconds("0.001"), 0.001);
  EXPECT_EQ(parse_seconds("315360000"), 315'360'000);
}

TEST(ParseSeconds, RejectsTextThatIsNoDuration) {
  for (const std::string text : {"", " ", ".5", ".", "5s", "1.2.3", "+1", "-1", " 1", "1 ", "1e3", "inf", "nan", "0x10",
                                 "1,5", "315360001", "99999999999999999999"}) {
    EXPECT_EQ(parse_seconds(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_EQ(split("a,b", ','), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(split(",a,,b,", ','), (std::vector<std::string>{"", "a", "", "b", ""}));
  EXPECT_EQ(split(",", ','), (std::vector<std::string>{"", ""}));
}

TEST(Split, GivesNoPieceOfTheEmptyText) {
  EXPECT_TRUE(split("", ',').empty());
}

TEST(Join, IsTheReverseOfSplit) {
  for (const std::string text : {"", "a", "a,b", ",a,,b,", ",", ",,a"}) {
    EXPECT_EQ(join(split(text, ','), ","), text);
  }
}

TEST(Trim, TakesBlanksAndLineEndsFromBothEnds) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(" \r\n\t"), "");
  EXPECT_EQ(trim(""), "");
}

std::optional<std::string> nearest(const std::string& typed) {
  const std::vector<std::string> known = {"nproc-per-node", "nnodes",  "node-rank", "master-addr",
                                          "master-port",    "log-dir", "tee",       "grace"};
  return nearest_name(typed, known);
}

TEST(NearestName, ForgivesOneThirdOfTheLetters) {
  EXPECT_EQ(nearest("nproc-per-nod"), "nproc-per-node");
  EXPECT_EQ(nearest("nproc_per_node"), "nproc-per-node");
  EXPECT_EQ(nearest("nprocs-pernode"), "nproc-per-node");
  EXPECT_EQ(nearest("nodes"), "nnodes");
  EXPECT_EQ(nearest("master-prot"), "master-port");
  EXPECT_EQ(nearest("ter"), "tee");
}

TEST(NearestName, PrefersTheNearest) {
  EXPECT_EQ(nearest("master-addr"), "master-addr");
  EXPECT_EQ(nearest("master-por"), "master-port");
}

TEST(NearestName, KnowsNothingThatIsFar) {
  EXPECT_EQ(nearest("learning-rate"), std::nullopt);
  EXPECT_EQ(nearest("xyz"), std::nullopt);
  EXPECT_EQ(nearest(""), std::nullopt);
  EXPECT_EQ(nearest_name("grace", {}), std::nullopt);
}

TEST(NearestName, DoesNotCompareNamesOfVeryDifferentLengths) {
  EXPECT_EQ(nearest(std::string(std::size_t{64} << 20U, 'e')), std::nullopt);
}

TEST(DescribeRanges, JoinsNeighbours) {
  EXPECT_EQ(describe_ranges(std::vector<int>{}), "");
  EXPECT_EQ(describe_ranges(std::vector<int>{5}), "5");
  EXPECT_EQ(describe_ranges(std::vector<int>{0, 1}), "0-1");
  EXPECT_EQ(describe_ranges(std::vector<int>{0, 1, 2, 3, 7, 9, 10}), "0-3, 7, 9-10");
}

TEST(ParseRanges, ReadsWhatDescribeRangesWrites) {
  EXPECT_EQ(parse_ranges("0-3, 7, 9-10"), (std::vector<int>{0, 1, 2, 3, 7, 9, 10}));
  EXPECT_EQ(parse_ranges("9,0-1,1"), (std::vector<int>{0, 1, 9}));
  for (const char* const bad : {"", "-", "3-1", "0-", "-1", "a", "1,,2", "0-70000"}) {
    EXPECT_EQ(parse_ranges(bad), std::nullopt) << bad;
  }
}

TEST(ParseRanges, UnfoldsTheNumbersOnceAndOnlyIfTheyAreNotTooMany) {
  std::string ranges = "0-65535";
  for (int i = 0; i < 100'000; ++i) {
    ranges += ",0-65535";
  }
  EXPECT_EQ(parse_ranges(ranges).value_or(std::vector<int>()).size(), kMostOfRanges);
  EXPECT_EQ(parse_ranges(ranges, kMostOfRanges - 1), std::nullopt);
  EXPECT_EQ(parse_ranges("2-5, 0-3, 4", 6), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(parse_ranges("2-5, 0-3, 4", 5), std::nullopt);
}

TEST(CountOf, KnowsThePlural) {
  EXPECT_EQ(count_of(0, "worker"), "0 workers");
  EXPECT_EQ(count_of(1, "worker"), "1 worker");
  EXPECT_EQ(count_of(4, "worker"), "4 workers");
}

TEST(FormatSeconds, HasTwoDigits) {
  EXPECT_EQ(format_seconds(0), "0.00");
  EXPECT_EQ(format_seconds(1.254), "1.25");
  EXPECT_EQ(format_seconds(86'400), "86400.00");
}

TEST(ValidUtf8, LeavesValidTextAlone) {
  for (const std::string& text :
       {""s, "plain"s, "\xC3\xA9"s, "\xE2\x82\xAC"s, "\xF0\x9F\x9A\x80"s, "\xED\x9F\xBF"s, "\xEE\x80\x80"s,
        "\xF4\x8F\xBF\xBF"s, "\0"s, "\x7F"s, "\xC2\x80"s, "\xE0\xA0\x80"s, "\xF0\x90\x80\x80"s}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
}

/// Each byte that is not part of a valid sequence.
std::string replaced(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += "\xEF\xBF\xBD";
  }
  return text;
}

TEST(ValidUtf8, ReplacesEachByteThatIsPartOfNoSequence) {
  for (const std::string& text : {
           "\x80"s, "\xBF"s, "\xC0\x80"s, "\xC1\xBF"s, "\xE0\x9F\xBF"s, "\xF0\x8F\xBF\xBF"s,
           "\xED\xA0\x80"s,      // a surrogate
           "\xF4\x90\x80\x80"s,  // beyond U+10FFFF
           "\xF5\x80\x80\x80"s, "\xFF"s, "\xFE\xFF"s, "\xC3"s, "\xE2\x82"s,
           "\xF0\x9F\x9A"s,  // cut off
       }) {
    EXPECT_EQ(valid_utf8(text), replaced(text.size()));
  }
}

TEST(ValidUtf8, ContinuesAfterABadByte) {
  EXPECT_EQ(valid_utf8("a\xFF\xC3\xA9\xC3z"), "a" + replaced(1) + "\xC3\xA9" + replaced(1) + "z");
}

TEST(ValidUtf8, IsValidForEveryPairOfBytes) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second), 'x'};
      const std::string valid = valid_utf8(text);
      EXPECT_EQ(valid_utf8(valid), valid);
      EXPECT_EQ(valid.back(), 'x') << "a bad sequence must not swallow what follows it";
    }
  }
}

TEST(Shortened, LeavesShortText) {
  EXPECT_EQ(shortened("", 5), "");
  EXPECT_EQ(shortened("abcde", 5), "abcde");
}

TEST(Shortened, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("abcdef", 5), "ab...");
  EXPECT_EQ(shortened("a\u00e9cdef", 5), "a...");
  EXPECT_EQ(shortened("\U0001F600bcdef", 6), "...");
}

TEST(Shortened, IsValidUtf8) {
  EXPECT_EQ(shortened("a\xFF", 5), "a\xEF\xBF\xBD");
  EXPECT_EQ(shortened("\xFF\xFF", 5), "...");  // two replacements take six bytes
}

TEST(OneLine, IsVisibleAndShort) {
  EXPECT_EQ(one_line(std::string_view("a\n\x1B\0\x7F\xFF\xC3\xA9", 8), 60), "a\\n\\x1b\\x00\\x7f\\xff\xC3\xA9");
  EXPECT_EQ(one_line("a long line", 6), "a l...");
}

TEST(ShellWord, IsOneWordOnOneLine) {
  EXPECT_EQ(shell_word("train.py"), "train.py");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b$c#"), "'a b$c#'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word("a\nb"), R"('a'$'\n''b')");
  EXPECT_EQ(shell_word("~"), "'~'");
}

TEST(ShellLine, IsWhatTheUserCouldType) {
  const std::vector<std::string> words = {"muster", "--mode", "once", "my train.py"};
  EXPECT_EQ(shell_line(words), "muster --mode once 'my train.py'");
}

TEST(LowerCase, ChangesCapitalLettersAlone) {
  EXPECT_EQ(lower_case("GPU-1a_\u00c9"), "gpu-1a_\u00c9");
}

TEST(MatchesPattern, TakesOneStarForAnyText) {
  EXPECT_TRUE(matches_pattern("SLURM_NNODES", "*_NNODES"));
  EXPECT_TRUE(matches_pattern("VC_WORKER_NUM", "VC_*_NUM"));
  EXPECT_TRUE(matches_pattern("NCCL_", "NCCL_*"));
  EXPECT_TRUE(matches_pattern("RANK", "RANK"));
  EXPECT_FALSE(matches_pattern("RANKS", "RANK"));
  EXPECT_FALSE(matches_pattern("VC_NUM", "VC_*_NUM"));  // the two ends do not share a letter
  EXPECT_FALSE(matches_pattern("", "*_NNODES"));
}

TEST(WithoutByteOrderMark, TakesOneMarkFromTheStart) {
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBF{}"), "{}");
  EXPECT_EQ(without_byte_order_mark("{}\xEF\xBB\xBF"), "{}\xEF\xBB\xBF");
  EXPECT_EQ(without_byte_order_mark(""), "");
}

TEST(IsBefore, OrdersNamesByTheirNumbers) {
  const std::vector<std::string> sorted = {"",        "a",        "a-1",   "a-2", "a-9", "a-10", "a-10-b",
                                           "a-10-b2", "a-10-b10", "a-100", "b",   "b01", "b1",   "b2"};
  for (std::size_t one = 0; one < sorted.size(); ++one) {
    for (std::size_t other = 0; other < sorted.size(); ++other) {
      EXPECT_EQ(is_before(sorted[one], sorted[other]), one < other) << sorted[one] << " " << sorted[other];
    }
  }
  EXPECT_TRUE(is_before("n99999999999999999999998", "n99999999999999999999999"));
}

}  // namespace
}  // namespace muster
