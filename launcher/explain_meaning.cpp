// Answers `muster explain CODE`, `muster explain 'MESSAGE'` and `muster explain WORD` from the tables of the pages.
#include "base/json.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "options/settings.hpp"
#include "process/spawn.hpp"
#include "report/message_table.hpp"
#include "subcommands.hpp"
#include "supervise/exit_status.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr int kSignals = 128;
constexpr std::string_view kExitCode = "exit code ";
constexpr const char* kKnownForms =
    "; known are codes such as 69, signals such as SIGKILL, words such as OOM and hang, and messages: "
    "muster explain 'TEXT'";
constexpr std::string_view kToQuote = "; to explain a message, quote it: muster explain 'TEXT'";

/// The question: the words behind `explain`, without blanks at its ends and without what muster puts in front of its
/// lines.
std::string question_of(const CommandLine& line) {
  constexpr std::string_view kMuster = "muster: ";
  // Most bytes in front of "muster: ": the time, and the host in a job started by ssh.
  constexpr std::size_t kLongestTime = 60;
  std::string text(trim(join(line.program, " ")));
  const std::size_t begin = text.find(kMuster);
  const bool is_front = begin <= kLongestTime && !text.substr(0, begin).ends_with(" by ");  // "stopped by muster: "
  return is_front ? text.substr(begin + kMuster.size()) : text;
}

/// The exit code that a word means: a number, or a signal's name. `counts_signals`: a number is that of a signal.
std::optional<int> code_of(std::string text, bool counts_signals) {
  constexpr int kLastCode = 255;
  constexpr int kLastSignal = 64;
  const auto end = std::ranges::find_if_not(text, is_letter_or_digit);
  const std::string word(text.begin(), end);
  const std::string name = variable_spelling(word);  // in capitals
  if (const auto signal = name.starts_with("SIG") ? parse_signal(name) : std::nullopt) {
    return kSignals + *signal;
  }
  if (word.find_first_not_of("0123456789") != std::string::npos || (word.size() > 1 && word.front() == '0')) {
    return std::nullopt;
  }
  const auto number = parse_integer(word, counts_signals ? 1 : 0, counts_signals ? kLastSignal : kLastCode);
  return number && counts_signals ? std::optional(kSignals + *number) : number;
}

/// The words that other programs write in front of an exit code; `exit_code_in` has those that only begin a line.
constexpr auto kExitCodeWords = std::to_array<std::string_view>(
    {"exit code", "exitcode", "exit status", "with code", "with status", "return code", "returncode"});

constexpr int kHangCode = 86;
constexpr auto kHangWords = std::to_array<std::string_view>({"hang", "hangs", "hanging", "hung"});

/// The exit code that a question is about: `137`, `SIGKILL`, `signal 9`, `Exit Code: 137` as kubectl prints it,
/// `exit code 137: that of rank 3`, `exitcode  : -9` as torchrun prints it, and Python's `Signals.SIGKILL`.
std::optional<int> exit_code_in(const std::string& text) {
  constexpr std::string_view kPython = "Signals.";
  constexpr std::string_view kSignal = "signal";
  if (const std::size_t python = text.find("Signals.SIG"); python != std::string::npos) {
    return code_of(text.substr(python + kPython.size()), /*counts_signals=*/false);
  }
  const std::string lower = lower_case(text);
  std::vector<std::string_view> beginnings(kExitCodeWords.begin(), kExitCodeWords.end());
  beginnings.insert(beginnings.end(), {"exit", "code", "returned", "rc", kSignal});
  for (const std::string_view beginning : beginnings) {
    const std::size_t word = text.find_first_not_of(":= ", std::min(beginning.size(), text.size()));
    if (lower.starts_with(beginning) && word != std::string::npos && word > beginning.size()) {
      const bool is_negative = text[word] == '-';
      return code_of(text.substr(word + (is_negative ? 1 : 0)), is_negative || beginning == kSignal);
    }
  }
  const std::string word = text.substr(0, text.find_last_not_of(":;.,") + 1);  // punctuation may have been copied, too
  if (word.starts_with('-') && std::ranges::all_of(word.substr(1), is_letter_or_digit)) {
    return code_of(word.substr(1), /*counts_signals=*/true);  // Python's subprocess shows signal 9 as -9
  }
  if (contains(kHangWords, lower_case(word))) {
    return kHangCode;
  }
  const bool is_one_word = std::ranges::all_of(word, is_letter_or_digit);
  return is_one_word ? code_of(word, /*counts_signals=*/false) : std::nullopt;
}

/// The exit code that is somewhere in a line, as in `[rank 0] failed (exitcode: 1) of binary: /usr/bin/python3`.
std::optional<int> exit_code_within(const std::string& text) {
  const std::string lower = lower_case(text);
  for (const std::string_view words : kExitCodeWords) {
    if (const std::size_t at = lower.find(words); at != std::string::npos) {
      return exit_code_in(text.substr(at));
    }
  }
  return std::nullopt;
}

Result<int> explain_exit_code(int code, bool is_json) {
  const ExitCodeRow row = find_exit_code(code, known_exit_codes()).value();        // each number has a row
  const ExitCodeHelp help = find_exit_code(code, known_exit_code_help()).value();  // here, too
  const std::string signal = row.code.starts_with("128") ? " (" + signal_name(code - kSignals) + ")" : "";
  if (is_json) {
    return print(pretty_json(json::object{{"code", code},
                                          {"row", row.code + signal},
                                          {"meaning", row.meaning},
                                          {"advice", row.advice},
                                          {"look", help.look},
                                          {"remedy", help.remedy}}));
  }
  const bool has_own_row = row.code == std::to_string(code);
  return print(std::string(kExitCode) + std::to_string(code) + (has_own_row ? "" : ", " + row.code + signal) + "\n  " +
               help.meaning + "\n  Look here: " + help.look + "\n  What to do: " + help.remedy +
               "\n  A scheduler should " + row.advice + ".\n  (docs/" + help.page + ", " + help.section + ")\n");
}

/// The sentence about the exit code that a meaning begins with, as in `64. Its name is wrong.` and `75 (exit code). No
/// node came.`; else empty.
std::string about_code(const std::string& meaning) {
  const std::size_t end = std::min(meaning.find_first_not_of("0123456789"), meaning.size());
  const bool is_code = meaning.compare(end, 1, ".") == 0 || meaning.compare(end, 11, " (exit code") == 0;
  const auto code = is_code ? exit_code_in(meaning.substr(0, end)) : std::nullopt;
  return code ? "\n  " + std::to_string(*code) +
                    " is the exit code: " + find_exit_code(*code, known_exit_code_help()).value().meaning
              : "";
}

std::vector<MessageRow> find_rows(const std::string& text) {
  const std::vector<MessageRow> rows = known_messages();
  const bool is_one_word = text.find(' ') == std::string::npos;
  std::vector<MessageRow> found = is_one_word ? std::vector<MessageRow>() : MessageIndex(rows).find(text);
  return found.empty() ? find_word(text, rows) : found;
}

Result<int> explain_message(const std::string& text, const std::vector<MessageRow>& found, bool is_json) {
  if (found.empty()) {
    const std::string shown = "'" + shortened(text, 200) + "'";
    return Error{ErrorKind::BadUsage,
                 text.find(' ') == std::string::npos
                     ? shown + " is no program here, no exit code and no message of muster" + kKnownForms
                     : "no message of this version of muster is like " + shown +
                           "; is it one of the program's or of PyTorch's?"};
  }
  json::array documents;
  std::string answer;
  for (const MessageRow& row : found) {
    documents.push_back(json::object{{"message", row.messages.front()},
                                     {"meaning", row.meaning},
                                     {"page", "docs/" + row.page},
                                     {"section", row.section}});
    answer += (answer.empty() ? "" : "\n") + std::string("a message like: ") + row.messages.front() + "\n  " +
              row.meaning + about_code(row.meaning) + "\n  (docs/" + row.page + ", " + row.section + ")\n";
  }
  return print(is_json ? pretty_json(documents) : answer);
}

/// True if behind `explain` there is nothing but words and `--json`.
bool has_words_alone(const CommandLine& line) {
  const auto front = std::span(line.words).first(line.words.size() - line.program.size()).subspan(1);
  return !line.program.empty() && line.words.size() > line.program.size() &&
         std::ranges::all_of(front, [](const std::string& word) { return word == "explain" || word == "--json"; });
}

/// Explains a word that stands in muster's messages and is also a program in PATH, such as `timeout`. Empty: the word
/// is in no message, or names a file here.
std::optional<Result<int>> explain_ambiguous(const std::string& word, bool is_json) {
  const std::vector<MessageRow> found =
      ::access(word.c_str(), F_OK) == 0 ? std::vector<MessageRow>() : find_word(word, known_messages());
  if (found.empty()) {
    return std::nullopt;
  }
  auto printed = explain_message(word, found, is_json);
  return !printed || is_json
             ? std::move(printed)
             : print("\nFor the values of the program '" + word + "': muster explain -- " + word + "\n");
}

}  // namespace

std::optional<Result<int>> explain_meaning(const CommandLine& line, const std::string& search_path) {
  if (line.compat != nullptr || !has_words_alone(line)) {
    return std::nullopt;
  }
  const std::string& word = line.program.front();
  const bool is_json = is_on(line.settings, "json");
  if (::access(word.c_str(), F_OK) == 0 || find_executable(word, search_path)) {
    return line.program.size() == 1 ? explain_ambiguous(word, is_json) : std::nullopt;
  }
  constexpr int kKilled = 137;
  std::string question = question_of(line);
  const auto code_at_front = exit_code_in(question);
  if (code_at_front == kKilled && question.find("asked to end from outside") != std::string::npos) {
    question = "stopped by SIGKILL";  // code 137 has two causes; here muster itself got SIGKILL
  } else if (code_at_front) {
    return explain_exit_code(*code_at_front, is_json);
  }
  const std::vector<MessageRow> found = find_rows(question);
  if (const auto code = found.empty() ? exit_code_within(question) : std::nullopt) {
    return explain_exit_code(*code, is_json);
  }
  const bool is_quoted = line.program.size() == 1;
  const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
  if (found.empty() && !is_quoted && !is_number) {
    return std::nullopt;
  }
  return explain_message(question, found, is_json);
}

Error advise_quotes(Error error, std::span<char* const> words) {
  constexpr std::size_t kFirst = 2;  // behind "muster explain"
  constexpr std::size_t kFew = 5;
  if (error.kind != ErrorKind::BadUsage || words.size() < kFew || std::string_view(words[1]) != "explain" ||
      !std::string_view(words[kFirst]).starts_with("--")) {
    return error;
  }
  const bool names_a_program = std::ranges::any_of(words.subspan(kFirst), [](const char* word) {
    return std::string_view(word) == "--" || ::access(word, F_OK) == 0;
  });
  error.message += names_a_program ? "" : kToQuote;
  return error;
}

}  // namespace muster
