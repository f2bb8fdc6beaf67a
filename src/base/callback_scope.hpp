#pragma once

// Makes callbacks that come too late do nothing.

#include <memory>
#include <utility>

namespace muster {

/// Wraps callbacks of its owner, so that they do nothing after `end`, or once the owner is destroyed. Asio still calls
/// handlers that completed before they were cancelled.
class CallbackScope {
 public:
  template <typename Call>
  [[nodiscard]] auto wrap(Call call) const {
    return [call = std::move(call), lives = std::weak_ptr<const bool>(lives_)](auto&&... given) {
      if (!lives.expired()) {
        call(std::forward<decltype(given)>(given)...);
      }
    };
  }

  /// Later calls of `wrap` begin anew.
  void end() { lives_ = std::make_shared<const bool>(); }

 private:
  std::shared_ptr<const bool> lives_ = std::make_shared<const bool>();
};

}  // namespace muster
