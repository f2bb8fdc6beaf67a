// Cuts a shell script into simple commands. Source: POSIX.1-2017, Shell Command Language.
#include "compat/shell_commands.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster {
namespace {

template <typename List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Words behind which another command begins, at once.
constexpr auto kBefore = std::to_array<std::string_view>({"then",
                                                          "do",
                                                          "else",
                                                          "elif",
                                                          "if",
                                                          "case",
                                                          "while",
                                                          "until",
                                                          "!",
                                                          "{",
                                                          "}",
                                                          "fi",
                                                          "done",
                                                          "esac"});
constexpr auto kOpening = std::to_array<std::string_view>({"if", "case", "{"});
constexpr auto kClosing = std::to_array<std::string_view>({"fi", "esac", "}"});
constexpr auto kTests = std::to_array<std::string_view>({"[", "[[", "test"});
/// Commands of the shell itself that run the one that their words name.
constexpr auto kWrappers = std::to_array<std::string_view>({"exec", "command"});

/// NAME=value
bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != 0 && equals != std::string_view::npos &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<ShellCommand> read() {
    while (at_ < text_.size() && !is_over_) {
      step();
    }
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      end_command();
      ++line_;
      skip_documents();
    } else if (c == '#' && !has_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
      end_word();
    } else if (text_.substr(at_, 3) == "<<<") {  // a word for the input
      has_word_ = true;
      word_ += "<<<";
      at_ += 3;
    } else if (text_.substr(at_, 2) == "<<") {
      open_document();
    } else if (c == '(' && word_.ends_with('$')) {
      skip_substitution();
    } else if (c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
      take_separator(c);
    } else {
      take_letter(c);
    }
  }

  /// $(command): what it prints is wanted, such as a list of hosts.
  void skip_substitution() {
    int depth = 0;
    do {
      depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      line_ += text_[at_] == '\n' ? 1 : 0;
      word_ += text_[at_++];
    } while (at_ < text_.size() && depth > 0);
  }

  void take_separator(char c) {
    const bool is_or = text_.substr(at_, 2) == "||";
    const bool is_of_redirection = c == '&' && !word_.empty() && word_.back() == '>';
    if (is_of_redirection) {  // 2>&1
      take_letter(c);
      return;
    }
    const bool is_and = text_.substr(at_, 2) == "&&";
    at_ += is_or || is_and ? 2 : 1;
    end_command();
    is_alternative_ = is_or;
    is_chained_ = is_and;
  }

  void take_letter(char c) {
    has_word_ = true;
    if (c == '\'' || c == '"') {
      take_quoted(c);
    } else if (c == '\\') {
      const bool is_joined = text_.substr(at_, 2) == "\\\n" || text_.substr(at_, 3) == "\\\r\n";
      line_ += is_joined ? 1 : 0;
      has_word_ = !is_joined || !word_.empty();
      if (!is_joined && at_ + 1 < text_.size()) {
        word_ += text_[at_ + 1];
      }
      at_ = std::min(at_ + (text_.substr(at_, 3) == "\\\r\n" ? 3 : 2), text_.size());
    } else {
      word_ += c;
      ++at_;
    }
  }

  void take_quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      at_ += quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() ? 1 : 0;
      line_ += text_[at_] == '\n' ? 1 : 0;
      word_ += text_[at_];
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  void end_word() {
    if (!std::exchange(has_word_, false)) {
      return;
    }
    std::string word = std::exchange(word_, "");
    ShellCommand& command = command_;
    if (!command.words.empty()) {
      command.words.push_back(std::move(word));
      return;
    }
    depth_ += contains(kOpening, word) ? 1 : 0;
    depth_ -= contains(kClosing, word) && depth_ > 0 ? 1 : 0;
    const bool is_in_front =
        contains(kBefore, word) || contains(kWrappers, word) || is_assignment(word);
    if (!is_in_front) {
      command.line = line_;
      command.is_conditional =
          depth_ > 0 || is_alternative_ || may_have_ended_ || (is_chained_ && is_behind_test_);
      command.words.push_back(std::move(word));
    }
  }

  void end_command() {
    end_word();
    is_alternative_ = false;
    if (!command_.words.empty()) {
      is_behind_test_ = contains(kTests, command_.words.front());
      note_end(command_.words);
      commands_.push_back(std::exchange(command_, {}));
    }
    is_chained_ = false;
  }

  /// exit, exit 0, return. With another number it is how a script refuses something.
  void note_end(const std::vector<std::string>& words) {
    const bool is_end = (words.front() == "exit" || words.front() == "return") &&
                        (words.size() == 1 || words[1] == "0" || words[1].starts_with('$'));
    const bool is_conditional = command_.is_conditional || is_chained_;
    if (is_end && is_conditional) {
      may_have_ended_ = true;
    } else if (words.front() == "exit" && !is_conditional) {
      is_over_ = true;
    }
  }

  /// << WORD: what follows the line, up to that word, is no part of the script.
  void open_document() {
    at_ += text_.substr(at_, 3) == "<<-" ? 3 : 2;
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    std::string name;
    for (; at_ < text_.size() &&
           std::string_view(" \t\r\n;&|)<>").find(text_[at_]) == std::string_view::npos;
         ++at_) {
      if (std::string_view("'\"\\").find(text_[at_]) == std::string_view::npos) {
        name += text_[at_];
      }
    }
    documents_.push_back(std::move(name));
  }

  void skip_documents() {
    for (const std::string& name : std::exchange(documents_, {})) {
      for (bool is_end = false; at_ < text_.size() && !is_end; ++line_) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        is_end = line == name;
        at_ = std::min(end + 1, text_.size());
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t depth_ = 0;
  bool has_word_ = false;
  bool is_alternative_ = false;  ///< behind "||"
  bool is_chained_ = false;      ///< behind "&&": what goes before has nearly always succeeded
  bool is_behind_test_ =
      false;  ///< the last command was one: who comes behind its "&&" is seldom sure
  bool may_have_ended_ = false;
  bool is_over_ = false;
  std::string word_;
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
  std::vector<std::string> documents_;
};

}  // namespace

std::vector<ShellCommand> read_shell(std::string_view text) {
  return Reader(text).read();
}

}  // namespace muster
