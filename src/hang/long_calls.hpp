#pragma once

// Finds workers that stay in one uninterruptible system call (state D), by looks some seconds apart. Pure.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace muster::hang {

/// Tells one long call from many short ones: the kernel counts each wait of a worker's main thread, and equal counts
/// at two looks mean one call.
class LongCalls {
 public:
  using Clock = std::chrono::steady_clock;

  /// Time in one call after which a worker is named, and after which it fails. 0: never; at least one is set.
  struct Limits {
    std::chrono::milliseconds report{};
    std::chrono::milliseconds failure{};
  };

  enum class Change {
    None,
    IsLong,     ///< in one call for the limit of the report; said once of a call
    IsTooLong,  ///< in one call for the limit of the failure; said once of a call
    IsOver      ///< after IsLong
  };
  struct Finding {
    Change change = Change::None;
    Clock::duration length{};  ///< of the call, as far as it was seen
  };

  explicit LongCalls(Limits limits) : limits_(limits) {}

  /// Notes a look at a running worker. `waits`: how often its main thread has given up the CPU; empty: it is in no
  /// uninterruptible call.
  Finding note(std::size_t worker, std::optional<std::uint64_t> waits, Clock::time_point now);
  /// The worker has ended.
  void forget(std::size_t worker) { calls_.erase(worker); }
  /// Time until the next look.
  Clock::duration next_delay(Clock::time_point now) const;

 private:
  struct Call {
    std::uint64_t waits = 0;
    Clock::time_point since;  ///< the first look at it
    Change said = Change::None;
  };

  Change change_at(Clock::duration length) const;

  Limits limits_;
  std::map<std::size_t, Call> calls_;  ///< by worker
};

}  // namespace muster::hang
