#pragma once

// Python's source as words: enough to see what is called where, without comments and strings. Private to
// program/.

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class PythonWordKind {
  Name,  ///< keywords too
  Number,
  String,  ///< `text` is what stands between the quotes
  Sign     ///< one character; of "==" there are two
};

struct PythonWord {
  PythonWordKind kind = PythonWordKind::Sign;
  std::string_view text;

  [[nodiscard]] bool is(std::string_view name) const { return kind != PythonWordKind::String && text == name; }
};

using Words = std::span<const PythonWord>;

/// One logical line: brackets, and a backslash at the end, join lines.
struct PythonLine {
  std::size_t number = 1;  ///< of the first of its lines in the file
  std::size_t indent = 0;  ///< a tab counts up to the next multiple of 8
  std::vector<PythonWord> words;
};

/// The lines that hold any words. The words point into `text`. Any text is taken: what is no Python
/// gives other words, and no error.
[[nodiscard]] std::vector<PythonLine> read_python(std::string_view text);

/// Where the bracket is closed that the word at `from` opens; the number of words if it is not.
[[nodiscard]] std::size_t find_close(Words words, std::size_t from);

/// Cuts at each word that stands in no bracket.
[[nodiscard]] std::vector<Words> cut(Words words, std::string_view at);

/// "torch.multiprocessing".
[[nodiscard]] std::string as_dotted(Words words);

/// For people: with quotes around strings, and the beginning only if it is long.
[[nodiscard]] std::string as_written(Words words);

// What the names of a Python script stand for, as far as its imports and plain assignments say. Private to
// program/.

class PythonNames {
 public:
  using Meanings = std::set<std::string, std::less<>>;

  /// Takes in a statement: an import, or an assignment to a name.
  void learn(Words statement);

  /// "mp.spawn" after `import torch.multiprocessing as mp`: torch.multiprocessing.spawn. A name that
  /// several imports define means each of these.
  [[nodiscard]] Meanings meanings_of(Words dotted) const;

  /// The digits of a number, or those that a name always stands for; empty for all else.
  [[nodiscard]] std::string_view number_of(Words value) const;

  /// True if a variable that launchers set for their workers is named, or what was made from one.
  [[nodiscard]] bool name_launcher(Words words) const;

 private:
  void learn_import(Words words, const std::string& of);
  void learn_from(Words words);
  void learn_assignment(Words words);

  std::map<std::string, Meanings, std::less<>> imports_;
  std::map<std::string, std::string_view, std::less<>> numbers_;  ///< empty: not always the same
  Meanings from_launcher_;
};

// Which functions of a Python script everybody comes to who runs it.

/// Whether who runs a script comes to a place in it.
enum class Reachability {
  Certain,
  Possible,  ///< under a condition, or nobody sees how
  Launched   ///< a variable of a launcher decides
};

/// Functions go by their names; the script itself is "". A method's name begins with a dot.
class FunctionCalls {
 public:
  void add(const std::string& callee, const std::string& caller, Reachability reach) {
    callers_[callee].push_back({caller, reach});
  }

  [[nodiscard]] Reachability reach_of(const std::string& function) const;

 private:
  struct Caller {
    std::string function;
    Reachability reach;
  };

  static bool has(const std::vector<Caller>& callers, Reachability reach);
  /// Those that surely call, and are not in `seen` yet.
  static std::vector<std::string> take_new(const std::vector<Caller>& callers, std::set<std::string>& seen);
  [[nodiscard]] const std::vector<Caller>& callers_of(const std::string& function) const;

  std::map<std::string, std::vector<Caller>> callers_;
};

}  // namespace muster
