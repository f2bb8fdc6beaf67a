#pragma once

// Reads Python's source as words, without comments and strings, and follows names and calls in it. Private to
// compat/.

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class PythonWordKind {
  Name,  ///< also keywords
  Number,
  String,  ///< `text` is between the quotes
  Sign     ///< one character; "==" is two signs
};

struct PythonWord {
  PythonWordKind kind = PythonWordKind::Sign;
  std::string_view text;

  [[nodiscard]] bool is(std::string_view name) const { return kind != PythonWordKind::String && text == name; }
};

using Words = std::span<const PythonWord>;

/// One logical line: open brackets, and a backslash at the end, join lines.
struct PythonLine {
  std::size_t number = 1;  ///< number of its first line in the file
  std::size_t indent = 0;  ///< a tab counts up to the next multiple of 8
  std::vector<PythonWord> words;
};

/// The lines that hold any words. The words point into `text`. Any text is accepted: text that is not Python gives
/// odd words, and no error.
[[nodiscard]] std::vector<PythonLine> read_python(std::string_view text);

/// Index of the word that closes the bracket at `from`; the number of words if none does.
[[nodiscard]] std::size_t find_close(Words words, std::size_t from);

/// Cuts the words at each `at` outside brackets.
[[nodiscard]] std::vector<Words> cut(Words words, std::string_view at);

/// The words as a dotted name: "torch.multiprocessing".
[[nodiscard]] std::string as_dotted(Words words);

/// The words as text for messages: strings are quoted, and a long text is cut.
[[nodiscard]] std::string as_written(Words words);

// Resolves the names of a Python script by its imports and plain assignments.

class PythonNames {
 public:
  using Meanings = std::set<std::string, std::less<>>;

  /// Reads a statement: an import, or an assignment to a name.
  void learn(Words statement);

  /// Full names of a dotted name: "mp.spawn" after `import torch.multiprocessing as mp` is
  /// torch.multiprocessing.spawn. A name from several imports means each of them.
  [[nodiscard]] Meanings meanings_of(Words dotted) const;

  /// The digits of a number, or of a name that always has the same number; empty for anything else.
  [[nodiscard]] std::string_view number_of(Words value) const;

  /// True if the words name a variable that launchers set for their workers, or a name derived from one.
  [[nodiscard]] bool name_launcher(Words words) const;

 private:
  void learn_import(Words words, const std::string& of);
  void learn_from(Words words);
  void learn_assignment(Words words);

  std::map<std::string, Meanings, std::less<>> imports_;
  std::map<std::string, std::string_view, std::less<>> numbers_;  ///< empty: the number is not always the same
  Meanings from_launcher_;
};

/// Certainty that a run of the script reaches a place in it.
enum class Reachability {
  Certain,
  Possible,  ///< under a condition, or not known
  Launched   ///< a launcher's variable decides
};

/// Calls between functions, which are known by name: the script itself is "", and a method's name begins with a dot.
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
  /// Functions that certainly call and are not in `seen` yet; adds them to `seen`.
  static std::vector<std::string> take_new(const std::vector<Caller>& callers, std::set<std::string>& seen);
  [[nodiscard]] const std::vector<Caller>& callers_of(const std::string& function) const;

  std::map<std::string, std::vector<Caller>> callers_;
};

}  // namespace muster
