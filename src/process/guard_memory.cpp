// Implements the memory that guard and agent share.
#include "process/guard_memory.hpp"

#include "base/file_io.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace muster {

Result<GuardSharedMemory*> GuardSharedMemory::make() {
  void* const memory = TRY(map_shared(sizeof(GuardSharedMemory), "cannot map memory for guard and agent"));
  return new (memory) GuardSharedMemory;  // without (), which would write all of its bytes
}

void GuardSharedMemory::beat(Instant now) {
  beat_.store(now.time_since_epoch().count(), std::memory_order_release);
}

/// The beat is stored before the limit that counts from it: a reader of the limit sees this beat or a later one.
void GuardSharedMemory::renew(const gang::Lease& lease, Instant now) {
  const auto gone_by = lease.gone_by.value_or(Instant());
  const auto limit = lease.limit.value_or(std::chrono::milliseconds(0));
  beat(now);
  gone_by_.store(gone_by.time_since_epoch().count(), std::memory_order_relaxed);
  limit_.store(Instant::duration(limit).count(), std::memory_order_release);
}

AgentHeartbeat GuardSharedMemory::heartbeat() const {
  AgentHeartbeat heartbeat;
  const auto limit = Instant::duration(limit_.load(std::memory_order_acquire));
  const auto gone_by = Instant::duration(gone_by_.load(std::memory_order_relaxed));
  heartbeat.beat = Instant(Instant::duration(beat_.load(std::memory_order_acquire)));
  if (limit.count() != 0) {
    heartbeat.lease.limit = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
  }
  if (gone_by.count() != 0) {
    heartbeat.lease.gone_by = Instant(gone_by);
  }
  return heartbeat;
}

/// The signal is stored last: a reader that sees it sees the rest.
void GuardSharedMemory::note(const StopSentByGuard& request) {
  asked_at_.store(request.at.time_since_epoch().count(), std::memory_order_relaxed);
  std::copy(request.had_ended.begin(), request.had_ended.end(), had_ended_.begin());
  ended_count_.store(request.had_ended.size(), std::memory_order_relaxed);
  asked_by_.store(request.signal, std::memory_order_release);
}

std::optional<StopSentByGuard> GuardSharedMemory::stop_sent_by_guard() const {
  StopSentByGuard request;
  request.signal = asked_by_.load(std::memory_order_acquire);
  if (request.signal == 0) {
    return std::nullopt;
  }
  request.at = Instant(Instant::duration(asked_at_.load(std::memory_order_relaxed)));
  request.had_ended.insert(had_ended_.begin(), had_ended_.begin() + ended_count_.load(std::memory_order_relaxed));
  return request;
}

bool GuardSharedMemory::add_helper(pid_t pid) {
  for (std::atomic<pid_t>& place : helpers_) {
    pid_t free_place = 0;
    if (place.compare_exchange_strong(free_place, pid)) {
      return true;
    }
  }
  return false;
}

void GuardSharedMemory::remove_helper(pid_t pid) {
  for (std::atomic<pid_t>& place : helpers_) {
    pid_t there = pid;
    if (place.compare_exchange_strong(there, 0)) {
      return;
    }
  }
}

std::set<pid_t> GuardSharedMemory::helpers() const {
  std::set<pid_t> pids;
  for (const std::atomic<pid_t>& place : helpers_) {
    if (const pid_t pid = place.load(); pid != 0) {
      pids.insert(pid);
    }
  }
  return pids;
}

}  // namespace muster
