#pragma once

// Bytes on their way from one process to another. Private to run/.

#include "base/result.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

/// A ring in memory that a process shares with the copy of it that it makes. One of the two puts bytes
/// in, the other takes them out, and neither makes a system call for it.
class SharedRingBuffer {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 20U;

  [[nodiscard]] static Result<SharedRingBuffer> make();
  SharedRingBuffer(SharedRingBuffer&& other) noexcept;
  SharedRingBuffer& operator=(SharedRingBuffer&& other) = delete;
  SharedRingBuffer(const SharedRingBuffer&) = delete;
  SharedRingBuffer& operator=(const SharedRingBuffer&) = delete;
  ~SharedRingBuffer();

  /// Puts in what there is room for, and returns how many bytes that is.
  [[nodiscard]] std::size_t put(std::string_view bytes);
  /// The next bytes, in one piece. Empty: there are none.
  [[nodiscard]] std::string_view next() const;
  /// The first `count` of them have been dealt with.
  void take(std::size_t count);

  /// How many bytes have been dealt with since the beginning.
  [[nodiscard]] std::uint64_t taken() const { return shared_->taken.load(); }
  /// How many bytes are in it.
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(shared_->put.load() - shared_->taken.load());
  }
  /// How many line ends are in it.
  [[nodiscard]] std::uint64_t lines() const;

  /// Who takes sleeps, and wants to be woken by who puts.
  std::atomic<bool>& taker_sleeps() { return shared_->taker_sleeps; }
  /// Who puts waits for room, or for the end, and wants to hear of what is taken.
  std::atomic<bool>& putter_waits() { return shared_->putter_waits; }

 private:
  /// Each counter and each flag is set by one side. The counters only grow.
  struct Shared {
    std::atomic<std::uint64_t> put{0};
    std::atomic<std::uint64_t> taken{0};
    std::atomic<bool> taker_sleeps{false};
    std::atomic<bool> putter_waits{false};
    char bytes[kBytes];
  };

  explicit SharedRingBuffer(Shared* shared) : shared_(shared) {}

  Shared* shared_;
};

}  // namespace muster
