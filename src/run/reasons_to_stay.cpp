// A list and nothing else: who has a reason adds it, and takes it away.
#include "reasons_to_stay.hpp"

#include <muster/base/text.hpp>

#include <algorithm>

namespace muster {

void ReasonsToStay::add(const std::string& name) {
  if (!is_leaving_ && std::find(names_.begin(), names_.end(), name) == names_.end()) {
    names_.push_back(name);
  }
}

void ReasonsToStay::remove(const std::string& name) {
  std::erase(names_, name);
}

void ReasonsToStay::leave_now() {
  names_.clear();
  is_leaving_ = true;
}

std::string ReasonsToStay::describe() const {
  return join(names_, ", ");
}

}  // namespace muster
