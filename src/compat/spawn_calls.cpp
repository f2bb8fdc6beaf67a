// Looks for calls such as torch.multiprocessing.spawn(main, nprocs=8), and whether they stand under a condition.
#include "compat/spawn_calls.hpp"

#include "compat/function_calls.hpp"
#include "compat/python_lines.hpp"
#include "compat/python_names.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace muster {
namespace {

/// What starts processes, with the number of them as its third argument or as `nprocs`.
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
  std::size_t indent = 0;               ///< of the line that begins it
  bool is_function = false;             ///< or the whole script
  bool is_conditional = false;          ///< not everybody who comes by goes in
  bool is_for_launchers = false;        ///< a variable of a launcher decides who goes in
  bool may_be_left = false;             ///< a function: before its end, under some condition
  bool is_left_by_workers = false;      ///< likewise: under one that a launcher's variable decides
  bool is_chain_for_launchers = false;  ///< the condition of the last `if` in it
  std::string name{};                   ///< of a function or class, as FunctionCalls has it
  bool is_class = false;
};

struct FoundCall {
  SpawnCall call;
  Words count;           ///< empty: the default
  std::string function;  ///< where it stands
};

class Search {
 public:
  explicit Search(std::string_view script) : lines_(read_python(script)) {
    blocks_.push_back({0, true});
  }

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
    const bool is_head =
        words.front().kind == PythonWordKind::Name && contains(kHeads, words.front().text);
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

  /// The block that such a line begins.
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
      around.is_chain_for_launchers =
          names_.name_launcher(head) || (is_next && around.is_chain_for_launchers);
      block.is_conditional = is_next || !asks_for_main(head);
      block.is_for_launchers = around.is_chain_for_launchers;
    }
    return block;
  }

  /// Who makes an object calls its __init__.
  [[nodiscard]] std::string name_of(std::string_view name, bool is_method) const {
    if (is_method && name == "__init__") {
      return blocks_.back().name;
    }
    return (is_method ? "." : "") + std::string(name);
  }

  /// if __name__ == "__main__"
  static bool asks_for_main(Words head) {
    const auto has = [&](auto kind, std::string_view text) {
      return std::any_of(head.begin(), head.end(), [&](const PythonWord& word) {
        return word.kind == kind && word.text == text;
      });
    };
    return head.size() <= 7 && has(PythonWordKind::Name, "__name__") &&
           has(PythonWordKind::String, "__main__");
  }

  void read_statements(Words words, const PythonLine& line) {
    for (const Words& statement : cut(words, ";")) {
      if (!statement.empty()) {
        read_statement(statement, line);
      }
    }
  }

  void read_statement(Words words, const PythonLine& line) {
    names_.learn(words);
    read_leaving(words);
    read_calls(words, line);
  }

  /// return; sys.exit(); sys.exit(0); raise SystemExit. One with another argument is how a script refuses something.
  void read_leaving(Words words) {
    const bool is_exit =
        words.size() > 2 &&
        contains(std::array<std::string_view, 3>{"exit", "quit", "sys"}, words[0].text) &&
        words.back().is(")") &&
        (words[words.size() - 2].is("(") || words[words.size() - 2].is("0"));
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
      const bool is_begin = words[i].kind == PythonWordKind::Name &&
                            (i == 0 || !(words[i - 1].is(".") || words[i - 1].is("def")));
      if (!is_begin) {
        continue;
      }
      std::size_t end = i + 1;
      while (end + 1 < words.size() && words[end].is(".") &&
             words[end + 1].kind == PythonWordKind::Name) {
        end += 2;
      }
      if (end < words.size() && words[end].is("(")) {
        read_call(words, {i, end}, line);
      }
    }
  }

  struct Span {
    std::size_t begin;
    std::size_t end;  ///< the bracket that opens
  };

  void read_call(Words words, Span name, const PythonLine& line) {
    const auto meanings = names_.meanings_of(words.subspan(name.begin, name.end - name.begin));
    const auto* const spawner =
        std::find_if(kSpawners.begin(), kSpawners.end(), [&](const Spawner& one) {
          return meanings.contains(one.name);
        });
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
    const Reachability here =
        is_sure && !is_under_condition() ? Reachability::Certain : Reachability::Possible;
    functions_.add(callee, function().name, is_workers_own() ? Reachability::Launched : here);
  }

  /// app.run(main), fire.Fire(main)
  void note_entry(Words words, Span name) {
    constexpr auto kStarters = std::to_array<std::string_view>({"run", "Fire"});
    const bool is_entry = name.end + 2 < words.size() &&
                          contains(kStarters, words[name.end - 1].text) &&
                          words[name.end + 1].kind == PythonWordKind::Name &&
                          (words[name.end + 2].is(")") || words[name.end + 2].is(","));
    if (is_entry) {
      note_call(std::string(words[name.end + 1].text), words);
    }
  }

  /// False: the call does not say how many. Of `*args` and `**options` nobody knows what is in them.
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

  /// Nothing but the call, or what becomes of it: context = mp.spawn(...).
  static bool is_whole(Words words, std::size_t begin, std::size_t close) {
    const Words before = words.first(begin);
    const bool is_begin =
        before.empty() || before.back().is("=") || (begin == 1 && before.front().is("return"));
    const Words after = close < words.size() ? words.subspan(close + 1) : Words();
    return is_begin && std::none_of(after.begin(), after.end(), [](const PythonWord& word) {
             return word.is("if");
           });
  }

  [[nodiscard]] const Block& function() const {
    const auto at = std::find_if(
        blocks_.rbegin(), blocks_.rend(), [](const Block& block) { return block.is_function; });
    return *at;  // the script itself is one
  }

  [[nodiscard]] bool is_under_condition() const {
    return function().may_be_left ||
           std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) {
             return block.is_conditional;
           });
  }

  /// A launcher's variable decides about it.
  [[nodiscard]] bool is_workers_own() const {
    return function().is_left_by_workers ||
           std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) {
             return block.is_for_launchers;
           });
  }

  std::vector<PythonLine> lines_;
  std::vector<Block> blocks_;
  PythonNames names_;
  std::vector<FoundCall> calls_;
  FunctionCalls functions_;
};

}  // namespace

std::optional<SpawnCall> find_spawn(std::string_view script) {
  return Search(script).run();
}

}  // namespace muster
