#include "report/message_table.hpp"

#include "supervise/job_end.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

constexpr const char* kPage = R"(# A page

| Field | Meaning |
|---|---|
| `other` | no message |

## The start

| Message | Cause, and what to do |
|---|---|
| `cannot open 'a'`<br>`cannot read 'a'` | It is [not there](files.md#there); a `b \| c`. |
| `cannot open 'b': again` | As above, twice. |

| Code | Meaning | A scheduler should |
|---|---|---|
| 69 | *lost* | retry |
| 128 + signal | a signal | think |
| the worker's own | its own | decide |
)";

TEST(MessagePage, HasARowForEachOfItsMessages) {
  const auto rows = read_message_page(kPage, "a.md");

  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].messages, (std::vector<std::string>{"cannot open 'a'", "cannot read 'a'"}));
  EXPECT_EQ(rows[0].meaning, "It is not there; a b | c.");
  EXPECT_EQ(rows[0].page, "a.md");
  EXPECT_EQ(rows[0].section, "The start");
}

TEST(MessagePage, GivesARowThatRefersToTheOneAboveBothMeanings) {
  EXPECT_EQ(read_message_page(kPage, "a.md").at(1).meaning, "It is not there; a b | c. As above, twice.");
}

TEST(MessagePage, OfTornTablesGivesWhatIsThere) {
  EXPECT_TRUE(read_message_page("", "a.md").empty());
  EXPECT_TRUE(read_message_page("| Message | Cause |\n|---|---|\n| `open", "a.md").empty());
  EXPECT_EQ(read_message_page("| Message | Cause |\n|---|---|\n| `open | x |", "a.md").at(0).messages.size(), 0U);
}

TEST(ExitCodes, AreFoundByTheirOwnRowOrTheRowOfTheirKind) {
  const auto rows = read_exit_codes(kPage);

  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(find_exit_code(69, rows)->meaning, "lost");
  EXPECT_EQ(find_exit_code(69, rows)->advice, "retry");
  EXPECT_EQ(find_exit_code(137, rows)->code, "128 + signal");
  EXPECT_EQ(find_exit_code(3, rows)->code, "the worker's own");
  EXPECT_EQ(find_exit_code(255, rows)->code, "the worker's own");
  EXPECT_FALSE(find_exit_code(69, {}));
}

TEST(ExitCodes, OfTheProgramAgreeWithTheTableOfEnds) {
  const auto rows = known_exit_codes();
  for (const EndRow& end : end_table()) {
    if (end.exit_code) {
      const auto row = find_exit_code(*end.exit_code, rows);
      ASSERT_TRUE(row);
      EXPECT_EQ(row->advice, end.advice) << row->code;
    }
  }
}

/// The text as another job would have it: other numbers, and other names in quotes.
std::string of_another_job(std::string text) {
  bool is_quoted = false;
  char before = ' ';
  for (char& c : text) {
    const bool is_possessive = c == '\'' && !is_quoted && before >= 'a' && before <= 'z';
    is_quoted = c == '\'' && !is_possessive ? !is_quoted : is_quoted;
    before = c;
    if (c >= '0' && c <= '9') {
      c = static_cast<char>('0' + ('9' - c));
    } else if (is_quoted && c >= 'a' && c <= 'z') {
      c = 'q';
    }
  }
  return text;
}

TEST(MessageIndex, FindsEachMessageOfThePagesWithOtherNumbersAndNames) {
  const auto rows = known_messages();
  ASSERT_GT(rows.size(), 900U);
  const MessageIndex index(rows);
  std::size_t asked = 0;
  std::vector<std::string> missed;
  for (const MessageRow& row : rows) {
    for (const std::string& message : row.messages) {
      const auto found = index.find("muster: " + of_another_job(message));
      const bool is_among = std::ranges::any_of(
          found, [&](const MessageRow& one) { return one.meaning == row.meaning && one.section == row.section; });
      asked += 1;
      if (!is_among) {
        missed.push_back(message);
      }
    }
  }
  EXPECT_LE(missed.size(), asked / 50) << missed.size() << " of " << asked << ", such as: " << missed.front();
}

TEST(MessageIndex, FindsNoneForTheTextOfAnotherProgram) {
  const MessageIndex index(known_messages());
  EXPECT_TRUE(index.find("").empty());
  EXPECT_TRUE(index.find("RuntimeError: CUDA error: device-side assert triggered").empty());
  EXPECT_TRUE(index.find("Epoch 3, loss 0.25").empty());
}

}  // namespace
}  // namespace muster
