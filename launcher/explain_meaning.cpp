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

namespace muster {
namespace {

constexpr int kSignals = 128;
constexpr std::string_view kExitCode = "exit code ";

/// The question: the words behind `explain`, without blanks at its ends and without what muster puts in front of its
/// lines.
std::string question_of(const CommandLine& line) {
  constexpr std::string_view kMuster = "muster: ";
  constexpr std::size_t kLongestTime = 60;  // in front of the line, and the host of a job that was started by ssh
  std::string text(trim(join(line.program, " ")));
  const std::size_t begin = text.find(kMuster);
  return begin == std::string::npos || begin > kLongestTime ? text : text.substr(begin + kMuster.size());
}

/// The exit code that a question is about: `137`, `SIGKILL`, `exit code 137: that of rank 3`.
std::optional<int> exit_code_in(std::string text) {
  if (text.starts_with(kExitCode)) {
    text = text.substr(kExitCode.size());
    text = text.substr(0, text.find_first_not_of("0123456789"));
  }
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) {
    return text.size() > 1 && text.front() == '0' ? std::nullopt : parse_integer(text, 0, 255);
  }
  const auto signal = text.starts_with("SIG") ? parse_signal(text) : std::nullopt;
  return signal ? std::optional(kSignals + *signal) : std::nullopt;
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

/// The sentence about the exit code that a meaning begins with, as in `64. Its name is wrong.`; else empty.
std::string about_code(const std::string& meaning) {
  const std::size_t end = meaning.find_first_not_of("0123456789");
  const auto code = end == 2 || end == 3 ? exit_code_in(meaning.substr(0, end)) : std::nullopt;
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

Result<int> explain_message(const std::string& text, bool is_json) {
  const std::vector<MessageRow> found = find_rows(text);
  if (found.empty()) {
    const std::string shown = "'" + shortened(text, 200) + "'";
    return Error{ErrorKind::BadUsage, text.find(' ') == std::string::npos
                                          ? shown + " is no program here, no exit code and no message of muster"
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

/// True if there is nothing on the line but `explain`, `--json` and words.
bool has_words_alone(const CommandLine& line) {
  const auto front = std::span(line.words).first(line.words.size() - line.program.size()).subspan(1);
  return !line.program.empty() && line.words.size() > line.program.size() &&
         std::ranges::all_of(front, [](const std::string& word) { return word == "explain" || word == "--json"; });
}

}  // namespace

bool asks_for_meaning(const CommandLine& line, const std::string& search_path) {
  if (line.command != Command::Explain || line.compat != nullptr || !has_words_alone(line)) {
    return false;
  }
  const std::string& word = line.program.front();
  if (::access(word.c_str(), F_OK) == 0 || find_executable(word, search_path)) {
    return false;
  }
  const std::string question = question_of(line);
  const bool is_quoted = line.program.size() == 1;
  const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
  return is_quoted || is_number || exit_code_in(question) || !find_rows(question).empty();
}

Result<int> explain_meaning(const CommandLine& line) {
  const bool is_json = is_on(line.settings, "json");
  const std::string question = question_of(line);
  const auto code = exit_code_in(question);
  return code ? explain_exit_code(*code, is_json) : explain_message(question, is_json);
}

}  // namespace muster
