#pragma once

// A limit in bytes that several share.

#include <cstddef>

namespace muster::store {

/// What a key costs beside its bytes and those of its value, so that many small ones are not free.
inline constexpr std::size_t kEntryOverhead = 192;

class Budget {
 public:
  explicit Budget(std::size_t most) : most_(most) {}

  /// False: that is more than there is, and nothing is spent.
  [[nodiscard]] bool spend(std::size_t bytes) {
    const bool is_there = bytes <= most_ - spent_;
    spent_ += is_there ? bytes : 0;
    return is_there;
  }
  /// What was spent is there again.
  void give_back(std::size_t bytes) { spent_ -= bytes; }

  [[nodiscard]] std::size_t spent() const { return spent_; }
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  std::size_t most_;
  std::size_t spent_ = 0;
};

}  // namespace muster::store
