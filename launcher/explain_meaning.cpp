// Answers `muster explain CODE` and `muster explain 'MESSAGE'` from the tables of the documentation.
#include "base/json.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "options/settings.hpp"
#include "report/message_table.hpp"
#include "subcommands.hpp"

#include <unistd.h>

namespace muster {
namespace {

constexpr int kSignals = 128;

std::optional<int> exit_code_in(const std::string& word) {
  return parse_integer(word, 0, 255);
}

Result<int> explain_exit_code(int code, bool is_json) {
  const ExitCodeRow row = find_exit_code(code, known_exit_codes()).value();  // each number has a row
  const std::string signal = row.code.starts_with("128") ? " (" + signal_name(code - kSignals) + ")" : "";
  if (is_json) {
    return print(pretty_json(
        json::object{{"code", code}, {"row", row.code + signal}, {"meaning", row.meaning}, {"advice", row.advice}}));
  }
  const bool has_own_row = row.code == std::to_string(code);
  return print("exit code " + std::to_string(code) + (has_own_row ? "" : ", " + row.code + signal) + "\n  " +
               row.meaning + "\n  A scheduler should " + row.advice + ".\n");
}

Result<int> explain_message(const std::string& text, bool is_json) {
  const std::vector<MessageRow> found = MessageIndex(known_messages()).find(text);
  if (found.empty()) {
    return Error{ErrorKind::BadUsage, "no message of this version of muster is like '" + shortened(text, 200) +
                                          "'; is it one of the program's or of PyTorch's?"};
  }
  json::array documents;
  std::string answer;
  for (const MessageRow& row : found) {
    documents.push_back(json::object{{"message", row.messages.front()},
                                     {"meaning", row.meaning},
                                     {"page", "docs/" + row.page},
                                     {"section", row.section}});
    answer += (answer.empty() ? "" : "\n") + row.messages.front() + "\n  " +
              (row.meaning.empty() ? "It explains itself." : row.meaning) + "\n  (docs/" + row.page + ", " +
              row.section + ")\n";
  }
  return print(is_json ? pretty_json(documents) : answer);
}

}  // namespace

bool asks_for_meaning(const CommandLine& line) {
  if (line.command != Command::Explain || line.compat != nullptr || line.program.size() != 1) {
    return false;
  }
  const std::string& word = line.program.front();
  return (exit_code_in(word) || word.find(' ') != std::string::npos) && ::access(word.c_str(), F_OK) != 0;
}

Result<int> explain_meaning(const CommandLine& line) {
  const std::string& word = line.program.front();
  const bool is_json = is_on(line.settings, "json");
  const auto code = exit_code_in(word);
  return code ? explain_exit_code(*code, is_json) : explain_message(word, is_json);
}

}  // namespace muster
