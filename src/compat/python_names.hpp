#pragma once

// What the names of a Python script stand for, as far as its imports and plain assignments say. Private to
// program/.

#include "compat/python_lines.hpp"

#include <map>
#include <set>

namespace muster {

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

}  // namespace muster
