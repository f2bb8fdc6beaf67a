// Finds calls such as torch.multiprocessing.spawn(main, nprocs=8) in Python, and the commands of shell scripts.
#include "compat/spawn_calls.hpp"

#include "compat/python_source.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster {
namespace {

/// A function that starts processes; their number is its third argument or `nprocs`.
struct Spawner {
  std::string_view name;
  bool starts_one_by_default;
};

/// Source: torch/multiprocessing/spawn.py; torch_xla/distributed/xla_multiprocessing.py;
/// paddle/distributed/spawn.py; the training samples of HAI.
constexpr auto kSpawners = std::to_array<Spawner>({
    {"torch.multiprocessing.spawn", true},
    {"torch.multiprocessing.spawn.spawn", true},
    {"torch.multiprocessing.start_processes", true},
    {"torch.multiprocessing.spawn.start_processes", true},
    {"hfai.multiprocessing.spawn", true},
    {"torch_xla.distributed.xla_multiprocessing.spawn", false},
    {"paddle.distributed.spawn", false},
});
constexpr std::size_t kCountPosition = 2;
constexpr std::string_view kCountName = "nprocs";

template <typename List>
bool contains(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// A block of the script, such as the body of an `if`.
struct Block {
  std::size_t indent = 0;               ///< indent of the line that begins it
  bool is_function = false;             ///< a function, or the whole script
  bool is_conditional = false;          ///< not every run enters it
  bool is_for_launchers = false;        ///< a launcher's variable decides whether it is entered
  bool may_be_left = false;             ///< a function that may return before its end, under a condition
  bool is_left_by_workers = false;      ///< likewise, under a condition on a launcher's variable
  bool is_chain_for_launchers = false;  ///< the condition of the last `if` in it is on such a variable
  std::string name{};                   ///< name of a function or class, in the form of FunctionCalls
  bool is_class = false;
};

struct FoundCall {
  SpawnCall call;
  Words count;           ///< empty: the call has no number
  std::string function;  ///< the function around the call
};

class CallSearch {
 public:
  explicit CallSearch(std::string_view script) : lines_(read_python(script)) { blocks_.push_back({0, true}); }

  std::optional<SpawnCall> run() {
    for (const PythonLine& line : lines_) {
      while (blocks_.size() > 1 && blocks_.back().indent >= line.indent) {
        blocks_.pop_back();
      }
      read_line(line);
    }
    std::optional<SpawnCall> first;
    for (FoundCall& found : calls_) {
      const Reachability reach = functions_.reach_of(found.function);
      if (reach == Reachability::Launched) {
        continue;
      }
      found.call.is_certain = found.call.is_certain && reach == Reachability::Certain;
      const bool is_better = !first || (found.call.is_certain && !first->is_certain);
      const std::string_view count = names_.number_of(found.count);
      if (is_better && count != "1" && count != "0") {
        first = std::move(found.call);
      }
    }
    return first;
  }

 private:
  void read_line(const PythonLine& line) {
    constexpr auto kHeads = std::to_array<std::string_view>(
        {"if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class"});
    Words words(line.words);
    if (words.size() > 1 && words.front().is("async")) {
      words = words.subspan(1);
    }
    const bool is_head = words.front().kind == PythonWordKind::Name && contains(kHeads, words.front().text);
    if (!is_head) {
      read_statements(words, line);
      return;
    }
    const std::vector<Words> parts = cut(words, ":");
    blocks_.push_back(block_of(parts.front(), line.indent));
    const std::size_t body = std::min(parts.front().size() + 1, words.size());
    if (body < words.size()) {
      read_statements(words.subspan(body), line);
      blocks_.pop_back();
    }
  }

  /// The block that a line with this head begins.
  Block block_of(Words head, std::size_t indent) {
    const std::string_view word = head.front().text;
    Block block{indent};
    block.is_function = word == "def";
    block.is_class = word == "class";
    if ((block.is_function || block.is_class) && head.size() > 1) {
      block.name = name_of(head[1].text, block.is_function && blocks_.back().is_class);
    }
    const bool is_first = word == "if";
    const bool is_next = word == "elif" || word == "else" || word == "except";
    if (is_first || is_next) {
      Block& around = blocks_.back();
      around.is_chain_for_launchers = names_.name_launcher(head) || (is_next && around.is_chain_for_launchers);
      block.is_conditional = is_next || !asks_for_main(head);
      block.is_for_launchers = around.is_chain_for_launchers;
    }
    return block;
  }

  /// Name of a function in the form of FunctionCalls. A call of the class calls its __init__.
  [[nodiscard]] std::string name_of(std::string_view name, bool is_method) const {
    if (is_method && name == "__init__") {
      return blocks_.back().name;
    }
    return (is_method ? "." : "") + std::string(name);
  }

  /// True for `if __name__ == "__main__"`.
  static bool asks_for_main(Words head) {
    const auto has = [&](auto kind, std::string_view text) {
      return std::any_of(head.begin(), head.end(),
                         [&](const PythonWord& word) { return word.kind == kind && word.text == text; });
    };
    return head.size() <= 7 && has(PythonWordKind::Name, "__name__") && has(PythonWordKind::String, "__main__");
  }

  void read_statements(Words words, const PythonLine& line) {
    for (const Words& statement : cut(words, ";")) {
      if (!statement.empty()) {
        names_.learn(statement);
        read_leaving(statement);
        read_calls(statement, line);
      }
    }
  }

  /// Notes return, sys.exit(), sys.exit(0), raise SystemExit. An exit with another argument reports an error.
  void read_leaving(Words words) {
    const bool is_exit = words.size() > 2 &&
                         contains(std::array<std::string_view, 3>{"exit", "quit", "sys"}, words[0].text) &&
                         words.back().is(")") && (words[words.size() - 2].is("(") || words[words.size() - 2].is("0"));
    const bool is_raised = words.size() > 1 && words[0].is("raise") && words[1].is("SystemExit");
    if (!words[0].is("return") && !is_exit && !is_raised) {
      return;
    }
    bool is_conditional = false;
    bool is_for_launchers = false;
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      if (block->is_function || &*block == &blocks_.front()) {
        block->may_be_left = block->may_be_left || is_conditional;
        block->is_left_by_workers = block->is_left_by_workers || is_for_launchers;
        return;
      }
      is_conditional = is_conditional || block->is_conditional;
      is_for_launchers = is_for_launchers || block->is_for_launchers;
    }
  }

  void read_calls(Words words, const PythonLine& line) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool is_begin =
          words[i].kind == PythonWordKind::Name && (i == 0 || !(words[i - 1].is(".") || words[i - 1].is("def")));
      if (!is_begin) {
        continue;
      }
      std::size_t end = i + 1;
      while (end + 1 < words.size() && words[end].is(".") && words[end + 1].kind == PythonWordKind::Name) {
        end += 2;
      }
      if (end < words.size() && words[end].is("(")) {
        read_call(words, {i, end}, line);
      }
    }
  }

  struct Span {
    std::size_t begin;
    std::size_t end;  ///< index of the opening bracket
  };

  void read_call(Words words, Span name, const PythonLine& line) {
    const auto meanings = names_.meanings_of(words.subspan(name.begin, name.end - name.begin));
    const auto* const spawner = std::find_if(kSpawners.begin(), kSpawners.end(),
                                             [&](const Spawner& one) { return meanings.contains(one.name); });
    if (spawner == kSpawners.end()) {
      const bool is_method = name.end - name.begin > 1;
      note_call((is_method ? "." : "") + std::string(words[name.end - 1].text), words);
      note_entry(words, name);
      return;
    }
    if (is_workers_own()) {
      return;
    }
    const std::size_t close = find_close(words, name.end);
    FoundCall found;
    found.function = function().name;
    found.call.line = line.number;
    found.call.callee = spawner->name;
    found.call.is_certain = is_whole(words, name.begin, close) && !is_under_condition();
    const std::size_t from = std::min(name.end + 1, close);
    const bool is_counted = read_count(found, words.subspan(from, close - from));
    if (is_counted || !spawner->starts_one_by_default) {
      calls_.push_back(std::move(found));
    }
  }

  void note_call(const std::string& callee, Words words) {
    const bool is_sure = std::none_of(words.begin(), words.end(), [](const PythonWord& word) {
      return word.is("if") || word.is("and") || word.is("or") || word.is("lambda");
    });
    const Reachability here = is_sure && !is_under_condition() ? Reachability::Certain : Reachability::Possible;
    functions_.add(callee, function().name, is_workers_own() ? Reachability::Launched : here);
  }

  /// Notes the function in app.run(main) and fire.Fire(main).
  void note_entry(Words words, Span name) {
    constexpr auto kStarters = std::to_array<std::string_view>({"run", "Fire"});
    const bool is_entry = name.end + 2 < words.size() && contains(kStarters, words[name.end - 1].text) &&
                          words[name.end + 1].kind == PythonWordKind::Name &&
                          (words[name.end + 2].is(")") || words[name.end + 2].is(","));
    if (is_entry) {
      note_call(std::string(words[name.end + 1].text), words);
    }
  }

  /// Reads the number of processes; false if the call has none. The contents of `*args` and `**options` are unknown.
  static bool read_count(FoundCall& found, Words arguments) {
    bool is_counted = false;
    std::size_t position = 0;
    for (const Words& argument : cut(arguments, ",")) {
      const bool is_unknown = !argument.empty() && argument.front().is("*");
      const bool is_named = argument.size() > 2 && argument[1].is("=") && !argument[2].is("=");
      const bool is_by_name = is_named && argument.front().is(kCountName);
      if (is_by_name || (!is_named && !argument.empty() && position == kCountPosition)) {
        found.count = is_by_name ? argument.subspan(2) : argument;
        found.call.count = std::string(kCountName) + "=" + as_written(found.count);
        return true;
      }
      if (is_unknown) {
        is_counted = true;
        found.call.is_certain = false;
        found.call.count = as_written(argument);
      }
      ++position;
    }
    return is_counted;
  }

  /// True if the statement is only the call, returned or assigned: context = mp.spawn(...).
  static bool is_whole(Words words, std::size_t begin, std::size_t close) {
    const Words before = words.first(begin);
    const bool is_begin = before.empty() || before.back().is("=") || (begin == 1 && before.front().is("return"));
    const Words after = close < words.size() ? words.subspan(close + 1) : Words();
    return is_begin && std::none_of(after.begin(), after.end(), [](const PythonWord& word) { return word.is("if"); });
  }

  [[nodiscard]] const Block& function() const {
    const auto at =
        std::find_if(blocks_.rbegin(), blocks_.rend(), [](const Block& block) { return block.is_function; });
    return *at;  // the script itself is a function too
  }

  [[nodiscard]] bool is_under_condition() const {
    return function().may_be_left ||
           std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.is_conditional; });
  }

  /// True if a launcher's variable decides whether this place is reached.
  [[nodiscard]] bool is_workers_own() const {
    return function().is_left_by_workers ||
           std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.is_for_launchers; });
  }

  std::vector<PythonLine> lines_;
  std::vector<Block> blocks_;
  PythonNames names_;
  std::vector<FoundCall> calls_;
  FunctionCalls functions_;
};

}  // namespace

std::optional<SpawnCall> find_spawn(std::string_view script) {
  return CallSearch(script).run();
}

// Cuts a shell script into simple commands. Source: POSIX.1-2017, Shell Command Language.

namespace {

/// Words behind which another command begins at once.
constexpr auto kBefore = std::to_array<std::string_view>(
    {"then", "do", "else", "elif", "if", "case", "while", "until", "!", "{", "}", "fi", "done", "esac"});
constexpr auto kOpening = std::to_array<std::string_view>({"if", "case", "{"});
constexpr auto kClosing = std::to_array<std::string_view>({"fi", "esac", "}"});
constexpr auto kTests = std::to_array<std::string_view>({"[", "[[", "test"});
/// Builtins of the shell that run the command in their words.
constexpr auto kShellPrefixes = std::to_array<std::string_view>({"exec", "command"});

/// True for NAME=value.
bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != 0 && equals != std::string_view::npos &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : text_(text) {}

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
    } else if (text_.substr(at_, 3) == "<<<") {  // "<<<": the next word is the input
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

  /// Skips $(command), which is used for its output, such as a list of hosts.
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
    if (is_of_redirection) {  // "2>&1"
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
    const bool is_in_front = contains(kBefore, word) || contains(kShellPrefixes, word) || is_assignment(word);
    if (!is_in_front) {
      command.line = line_;
      command.is_conditional = depth_ > 0 || is_alternative_ || may_have_ended_ || (is_chained_ && is_behind_test_);
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

  /// Notes exit, exit 0 and return. An exit with another number is how a script reports an error.
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

  /// Notes << WORD: the lines behind this one, up to WORD, are a here-document.
  void open_document() {
    at_ += text_.substr(at_, 3) == "<<-" ? 3 : 2;
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    std::string name;
    for (; at_ < text_.size() && std::string_view(" \t\r\n;&|)<>").find(text_[at_]) == std::string_view::npos; ++at_) {
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
  bool is_chained_ = false;      ///< behind "&&": the command before it nearly always succeeds
  bool is_behind_test_ = false;  ///< the last command was a test, so a command behind its "&&" is uncertain
  bool may_have_ended_ = false;
  bool is_over_ = false;
  std::string word_;
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
  std::vector<std::string> documents_;
};

}  // namespace

std::vector<ShellCommand> read_shell(std::string_view text) {
  return ShellReader(text).read();
}

}  // namespace muster
