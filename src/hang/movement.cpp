// Compares counters and places of the same ranks.
#include "hang/movement.hpp"

#include "hang/occupation.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster::hang {
namespace {

constexpr Thresholds kThresholds;

/// True if a wait for others went through: a rank sleeps until they come, so each switch is a finished collective.
/// Not for a rank that polls, which switches all the time and sleeps in a timer, nor for one that has not joined yet,
/// which tries again and again.
bool has_passed(const RankEvidence& now, const RankEvidence& was) {
  if (is_first_meeting(awaited_operation(now.place.stack))) {
    return now.cpu_share >= kThresholds.cpu_share;
  }
  const bool is_polling = now.place.wait.find("nanosleep") != std::string::npos;
  return now.place.state == 'S' && !is_polling && now.counters.switches != was.counters.switches;
}

/// True if the rank has entered a collective since the last look, or completed one.
bool has_progressed(const RankEvidence& now, const RankEvidence& was) {
  return !now.groups.empty() && !was.groups.empty() && now.groups != was.groups;
}

/// The growth in a second; 0 if the number could not be read this time.
double rate(std::uint64_t now, std::uint64_t was, double seconds) {
  return now > was && seconds > 0 ? static_cast<double>(now - was) / seconds : 0;
}

/// True if the rank has used files, sockets, pages or other processes since the last look.
bool has_done_more_than_compute(const Counters& now, const Counters& was, double seconds) {
  constexpr double kMilliseconds = 1'000;
  return rate(now.io_bytes, was.io_bytes, seconds) >= kThresholds.io || now.sending != was.sending ||
         rate(now.page_reads, was.page_reads, seconds) >= kThresholds.page_reads ||
         rate(now.children_ms, was.children_ms, seconds) / kMilliseconds >= kThresholds.children_share;
}

void compare(RankEvidence& now, const RankEvidence& was, double seconds) {
  constexpr double kMilliseconds = 1'000;
  const bool is_other = now.pid != was.pid || !are_same_calls(now.place.stack, was.place.stack);
  now.cpu_share = rate(now.counters.cpu_ms, was.counters.cpu_ms, seconds) / kMilliseconds;
  if (is_other || has_progressed(now, was)) {
    now.is_moving = true;
    return;
  }
  switch (now.place.state == 'D' ? Occupation::Unknown : occupation_of(now.place)) {  // D: in one system call
    case Occupation::WaitsForRanks:
      now.is_moving = has_passed(now, was);
      break;
    case Occupation::WaitsForLock:
      break;
    default:
      const double switches = rate(now.counters.switches, was.counters.switches, seconds);
      const bool has_waited =
          switches > (is_polling_wait(now.place.stack) ? kThresholds.switches : 0);  // and waits again
      const bool computes =
          now.cpu_share >= kThresholds.cpu_share ||
          rate(now.counters.threads_ms, was.counters.threads_ms, seconds) / kMilliseconds >= kThresholds.threads_share;
      const bool does_more = has_done_more_than_compute(now.counters, was.counters, seconds);
      now.is_spinning = (computes || has_waited) && !does_more;
      now.is_moving = now.is_spinning || does_more;
  }
}

std::optional<double> fabric_rate(const Evidence& now, const Evidence& before, double seconds) {
  const bool is_known = now.fabric_bytes && before.fabric_bytes && *now.fabric_bytes >= *before.fabric_bytes;
  if (!is_known || now.missing + before.missing > 0 || seconds <= 0) {
    return {};
  }
  return rate(*now.fabric_bytes, *before.fabric_bytes, seconds);
}

}  // namespace

void mark_moving(Evidence& now, const Evidence& before, double seconds) {
  now.fabric_rate = fabric_rate(now, before, seconds);
  const bool fabric_moves = now.fabric_rate.value_or(0) >= kThresholds.fabric;
  std::map<int, const RankEvidence*> earlier;
  for (const RankEvidence& one : before.ranks) {
    earlier[one.rank] = &one;
  }
  for (RankEvidence& one : now.ranks) {
    if (!one.place.end.empty()) {
      continue;
    }
    const auto found = earlier.find(one.rank);
    if (found != earlier.end()) {
      compare(one, *found->second, seconds);
    }  // otherwise it is new, and nobody has seen it stand still
    if (one.is_active || (fabric_moves && one.groups.empty()) || found == earlier.end()) {
      one.is_moving = true;
      one.is_spinning = false;
    }
  }
}

}  // namespace muster::hang
