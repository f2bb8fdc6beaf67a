#pragma once

// Which functions of a Python script everybody comes to who runs it. Private to program/.

#include <map>
#include <set>
#include <string>
#include <vector>

namespace muster {

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
  static std::vector<std::string> take_new(const std::vector<Caller>& callers,
                                           std::set<std::string>& seen);
  [[nodiscard]] const std::vector<Caller>& callers_of(const std::string& function) const;

  std::map<std::string, std::vector<Caller>> callers_;
};

}  // namespace muster
