// Follows the calls of functions back to the script itself.
#include "compat/function_calls.hpp"

#include <algorithm>

namespace muster {

bool FunctionCalls::has(const std::vector<Caller>& callers, Reachability reach) {
  return std::any_of(
      callers.begin(), callers.end(), [&](const Caller& one) { return one.reach == reach; });
}

const std::vector<FunctionCalls::Caller>& FunctionCalls::callers_of(
    const std::string& function) const {
  static const std::vector<Caller> none;
  const auto callers = callers_.find(function);
  return callers == callers_.end() ? none : callers->second;
}

std::vector<std::string> FunctionCalls::take_new(const std::vector<Caller>& callers,
                                                 std::set<std::string>& seen) {
  std::vector<std::string> ones;
  for (const Caller& caller : callers) {
    if (caller.reach == Reachability::Certain && seen.insert(caller.function).second) {
      ones.push_back(caller.function);
    }
  }
  return ones;
}

Reachability FunctionCalls::reach_of(const std::string& function) const {
  std::vector<std::string> left = {function};
  std::set<std::string> seen = {function};  // they surely lead to it
  bool is_decided = false;                  // a launcher's variable decides about some way to it
  bool is_free = false;                     // about another it does not
  while (!left.empty()) {
    const std::vector<Caller>& callers = callers_of(left.back());
    left.pop_back();
    is_free = is_free || callers.empty() || has(callers, Reachability::Possible);
    is_decided = is_decided || has(callers, Reachability::Launched);
    for (const std::string& caller : take_new(callers, seen)) {
      left.push_back(caller);
    }
  }
  if (seen.contains("")) {
    return Reachability::Certain;
  }
  return is_decided && !is_free ? Reachability::Launched : Reachability::Possible;
}

}  // namespace muster
