#include "report/message_table.hpp"

#include "supervise/job_end.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

namespace muster {
namespace {

constexpr const char* kPage = R"(# A page

| Field | Meaning |
|---|---|
| `other` | no message |

## The start

Correct
the file.

| Message | Cause, and what to do |
|---|---|
| `cannot open 'a'`<br>`cannot read 'a'` | It is [not there](files.md#there); a `b \| c` is what it has. |
| `cannot open 'b': again` | |

| You see | It means | Do |
|---|---|---|
| `no room` or `Full` | [A full](disk.md) disk. | Make room. |

| Exit code | What it means | Where to look | What to do |
|---|---|---|---|
| 8 | *one* | `there` | that |
| another number | others | here | this |

| Code | Meaning | A scheduler should |
|---|---|---|
| 69 | *lost* | retry |
| 128 + signal | a signal | think |
| the worker's own | its own | decide |
)";

TEST(MessagePage, HasARowForEachOfItsMessages) {
  const auto rows = read_message_page(kPage, "a.md");

  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].messages, (std::vector<std::string>{"cannot open 'a'", "cannot read 'a'"}));
  EXPECT_EQ(rows[0].meaning, "It is not there; a 'b | c' is what it has.");
  EXPECT_EQ(rows[0].page, "a.md");
  EXPECT_EQ(rows[0].section, "The start");
}

TEST(MessagePage, GivesARowOfFewWordsWhatStandsAboveItsTable) {
  EXPECT_EQ(read_message_page(kPage, "a.md").at(1).meaning, "Correct the file.");
}

TEST(MessagePage, HasTheSymptomsAsMessages) {
  const MessageRow row = read_message_page(kPage, "a.md").at(2);

  EXPECT_EQ(row.messages, (std::vector<std::string>{"no room", "Full"}));
  EXPECT_EQ(row.meaning, "A full disk. Make room.");
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
  EXPECT_FALSE(find_exit_code(69, std::vector<ExitCodeRow>()));
}

TEST(ExitCodes, HaveARowForPeople) {
  const auto rows = read_exit_code_help(kPage, "a.md");

  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(find_exit_code(8, rows)->meaning, "one");
  EXPECT_EQ(find_exit_code(8, rows)->look, "'there'");
  EXPECT_EQ(find_exit_code(9, rows)->remedy, "this");
}

TEST(ExitCodes, OfTheProgramHaveARowForPeopleEach) {
  const auto rows = known_exit_code_help();
  for (const ExitCodeRow& row : known_exit_codes()) {
    const bool is_number = row.code.find_first_not_of("0123456789") == std::string::npos;
    EXPECT_TRUE(!is_number || find_exit_code(std::stoi(row.code), rows)->code == row.code) << row.code;
  }
  EXPECT_NE(find_exit_code(137, rows)->remedy.find("memory"), std::string::npos);
  EXPECT_EQ(find_exit_code(150, rows)->code, "128 + signal");
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
      const bool is_word = message.find(' ') == std::string::npos;
      const auto found = is_word ? find_word(message, rows) : index.find("muster: " + of_another_job(message));
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

TEST(MessageIndex, HasAMeaningForEachMessage) {
  for (const MessageRow& row : known_messages()) {
    EXPECT_GT(std::ranges::count(row.meaning, ' '), 3) << row.page << ": " << row.messages.front();
    EXPECT_EQ(row.meaning.find("s above"), std::string::npos) << row.page << ": " << row.messages.front();
  }
}

TEST(MessageIndex, GoesByRareWordsAndTheBeginning) {
  const MessageIndex index(known_messages());
  const auto first = [&](const char* text) {
    const auto found = index.find(text);
    return found.empty() ? std::string() : found.front().messages.front();
  };
  EXPECT_TRUE(first("stopped by SIGHUP").starts_with("stopped by SIGTERM"));
  EXPECT_TRUE(first("suspended: nobody had saved or ended with exit code 0, 3.00 s after the notice: asking 1 worker "
                    "to end (SIGTERM), "
                    "killing what is left after 30.00 s")
                  .starts_with("suspended: nobody had saved"));
  EXPECT_TRUE(first("--history is 'x', expected a number of jobs from 0 to 1000").starts_with("--history"));
  EXPECT_TRUE(
      first("no file 'train.py' in '/tmp/br': rank 0 could not be started, node 0 (vm)").starts_with("no file"));
  EXPECT_TRUE(first("the leader at 127.0.0.1:29732 was lost: it was silent for 8 s: asking 1 worker to end (SIGTERM), "
                    "killing what is left after 30.00 s")
                  .starts_with("the leader at 10.0.0.1:29500 was lost: it was silent"));
  EXPECT_EQ(
      first("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity"),
      "CUDA out of memory");
}

TEST(MessageIndex, FindsOneMessageForALineOfAJob) {
  const MessageIndex index(known_messages());
  const auto pairs = std::to_array<std::pair<const char*, const char*>>({
      {"rank 3 (vm, pid 1) is at endhang.py:4 in wait_for_file", "where this rank is"},
      {"rank 2 (pid 9) failed (signal SIGKILL (Killed)): asking 2 workers to end (SIGTERM), killing what is left after "
       "30.00 s",
       "Rank 2 failed"},
      {"rank 1 failed first: node 0 (vm), local rank 1, pid 9, signal SIGKILL (Killed), after 1.25 s, attempt 0",
       "a signal ended it"},
      {"rank 1 failed first: node 0 (vm), local rank 1, pid 9, signal SIGSEGV (Segmentation fault), after 1.25 s, "
       "attempt 0",
       "a signal ended it"},
      {"rank 1 failed first: node 0 (vm), local rank 1, pid 9, exit code 3, after 1.25 s, attempt 0",
       "ended with this exit code"},
      {"stopped by SIGHUP", "from Ctrl-C (SIGINT)"},
      {"stopped by SIGKILL", "killed muster itself"},
      {"was stopped by SIGSTOP", "kill -CONT PID"},
      {"cannot write '/l/attempt_0/worker_0.out': No space left on device, going on without it", "a log file"},
      {"flags: node 0 of 2, 2 workers here, leader A:47101, OMP_NUM_THREADS=1 (2 allowed cores / 2 workers)",
       "at which address and port the agents"},
      {"where ranks 0-2 are is not known", "install py-spy"},
      {"succeeded: rank 0", "before the job ended"},
      {"3 ranks are alike: exit code 0", "have already ended"},
      {"node 1, b (10.0.0.2), was lost: it reset the connection", "ended without a message"},
      {"cannot listen on port 29777: Address already in use", "'--master-port'"},
  });
  for (const auto& [text, part] : pairs) {
    const auto found = index.find(text);
    ASSERT_EQ(found.size(), 1U) << text;
    EXPECT_NE(found.front().meaning.find(part), std::string::npos) << text << "\n" << found.front().meaning;
  }
}

TEST(MessagePage, NamesThePageOfALinkBehindSee) {
  const std::string page =
      "| Message | Cause |\n|---|---|\n| `a b` | See [hangs](hangs.md#x), and [hangs](hangs.md) too: it hangs. |\n";
  EXPECT_EQ(read_message_page(page, "a.md").at(0).meaning, "See hangs in docs/hangs.md, and hangs too: it hangs.");
}

TEST(SymptomsOfOneWord, InSmallLettersCountInShortTextsAlone) {
  const auto rows =
      read_message_page("| You see | It means | Do |\n|---|---|---|\n| `lost` | Gone. | Look. |\n", "a.md");

  EXPECT_EQ(find_word("node lost", rows).size(), 1U);
  EXPECT_TRUE(find_word("the race was lost", rows).empty());
}

TEST(SymptomsOfOneWord, AreFoundInATextWhateverTheirCase) {
  const auto rows = read_message_page(kPage, "a.md");

  ASSERT_EQ(find_word("the disk is full", rows).size(), 1U);
  EXPECT_EQ(find_word("the disk is full", rows).front().messages.front(), "Full");
  EXPECT_TRUE(find_word("fuller", rows).empty());
}

TEST(MessageIndex, FindsNoneForTheTextOfAnotherProgram) {
  const MessageIndex index(known_messages());
  EXPECT_TRUE(index.find("").empty());
  EXPECT_TRUE(index.find("RuntimeError: CUDA error: device-side assert triggered").empty());
  EXPECT_TRUE(index.find("Epoch 3, loss 0.25").empty());
}

}  // namespace
}  // namespace muster
