// Implements timers.
#include "process/timers.hpp"

#include <algorithm>

namespace muster {

void Debounce::ask() {
  constexpr int kMostWhiles = 5;
  const auto now = std::chrono::steady_clock::now();
  latest_ = timer_.is_pending() ? latest_ : now + kMostWhiles * quiet_;
  timer_.start(std::min(now + quiet_, latest_) - now, [this] { call_(); });
}

}  // namespace muster
