// Follows the calls of functions back to the script itself.
#include "function_calls.hpp"

#include <algorithm>
#include <set>

namespace muster {

Reach FunctionCalls::reach_of(const std::string& function) const {
  std::vector<std::string> left = {function};
  std::set<std::string> seen = {function};  // functions that surely lead to it
  bool is_decided = false;                  // a launcher's variable decides about some way to it
  bool is_free = false;                     // about another it does not
  while (!left.empty()) {
    const std::string next = std::move(left.back());
    left.pop_back();
    if (next.empty()) {
      return Reach::Certain;
    }
    const auto callers = callers_.find(next);
    if (callers == callers_.end()) {
      is_free = true;
      continue;
    }
    for (const Caller& caller : callers->second) {
      is_decided = is_decided || caller.reach == Reach::Launched;
      is_free = is_free || caller.reach == Reach::Possible;
      const bool is_new = caller.reach == Reach::Certain && seen.insert(caller.function).second;
      if (is_new) {
        left.push_back(caller.function);
      }
    }
  }
  return is_decided && !is_free ? Reach::Launched : Reach::Possible;
}

}  // namespace muster
