// Compares looks at workers that are in uninterruptible system calls.
#include "hang/long_calls.hpp"

#include <algorithm>
#include <utility>

namespace muster::hang {
namespace {

/// Interval of looks, unless a limit is shorter.
constexpr std::chrono::seconds kInterval{30};
/// Interval while a worker is named: short, so that the end of its call is reported soon.
constexpr std::chrono::seconds kIntervalOfNamed{5};

}  // namespace

LongCalls::Change LongCalls::change_at(Clock::duration length) const {
  if (limits_.failure.count() > 0 && length >= limits_.failure) {
    return Change::IsTooLong;
  }
  return limits_.report.count() > 0 && length >= limits_.report ? Change::IsLong : Change::None;
}

LongCalls::Finding LongCalls::note(std::size_t worker, std::optional<std::uint64_t> waits, Clock::time_point now) {
  const auto found = calls_.find(worker);
  if (found == calls_.end()) {
    if (waits) {
      calls_[worker] = {*waits, now};
    }
    return {};
  }
  Call& call = found->second;
  const Clock::duration length = now - call.since;
  if (waits == call.waits) {
    const Change change = change_at(length);
    return change == std::exchange(call.said, change) ? Finding{} : Finding{change, length};
  }
  const bool was_named = call.said != Change::None;
  calls_.erase(found);
  if (waits) {
    calls_[worker] = {*waits, now};
  }
  return {was_named ? Change::IsOver : Change::None, length};
}

LongCalls::Clock::duration LongCalls::next_delay(Clock::time_point now) const {
  Clock::duration delay = kInterval;
  for (const auto limit : {limits_.report, limits_.failure}) {
    delay = limit.count() > 0 ? std::min<Clock::duration>(delay, limit) : delay;
  }
  for (const auto& [worker, call] : calls_) {
    if (call.said != Change::None) {
      delay = std::min<Clock::duration>(delay, kIntervalOfNamed);
    }
    if (limits_.failure.count() > 0 && call.said != Change::IsTooLong) {
      delay = std::min(delay, std::max(call.since + limits_.failure - now, Clock::duration::zero()));
    }
  }
  return delay;
}

}  // namespace muster::hang
