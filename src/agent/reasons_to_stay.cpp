// A list and nothing else: who has a reason adds it, and takes it away.
#include "agent/reasons_to_stay.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster {

void PendingWork::add(const std::string& name,
                      std::function<std::vector<std::string>()> in_detail) {
  const bool is_there = std::any_of(
      reasons_.begin(), reasons_.end(), [&](const Reason& reason) { return reason.name == name; });
  if (!is_leaving_ && !is_there) {
    reasons_.push_back({name, std::move(in_detail)});
  }
}

void PendingWork::remove(const std::string& name) {
  std::erase_if(reasons_, [&](const Reason& reason) { return reason.name == name; });
}

void PendingWork::exit_early() {
  reasons_.clear();
  is_leaving_ = true;
}

std::string PendingWork::describe() const {
  std::vector<std::string> names;
  for (const Reason& reason : reasons_) {
    std::vector<std::string> details =
        reason.in_detail ? reason.in_detail() : std::vector<std::string>();
    if (details.empty()) {
      details.push_back(reason.name);
    }
    names.insert(names.end(), details.begin(), details.end());
  }
  return join(names, ", ");
}

}  // namespace muster
