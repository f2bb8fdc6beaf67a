#pragma once

// Which signals that ask for the end are new. Private to run/.

#include <chrono>

namespace muster {

/// Whoever signals every process of a job (`timeout`, systemd, `pkill`) reaches the guard, which
/// passes it on, and us: that is one request, not a second one that means "now".
class SignalDebounce {
 public:
  /// True when one that comes now is no echo.
  [[nodiscard]] bool is_new() {
    constexpr std::chrono::milliseconds kEcho{100};
    const auto now = std::chrono::steady_clock::now();
    const bool is_echo = now - last_ < kEcho;
    last_ = is_echo ? last_ : now;
    return !is_echo;
  }

 private:
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace muster
