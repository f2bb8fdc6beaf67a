// Memory of two processes: see mmap(2), MAP_SHARED and MAP_ANONYMOUS.
#include "guard/shared_page.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <new>

namespace muster {

Result<GuardSharedMemory*> GuardSharedMemory::make() {
  void* const memory = ::mmap(nullptr,
                              sizeof(GuardSharedMemory),
                              PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS,
                              -1,
                              0);
  if (memory == MAP_FAILED) {
    return system_error("cannot map memory for guard and agent", errno);
  }
  return new (memory) GuardSharedMemory();
}

void GuardSharedMemory::beat(Instant now) {
  beat_.store(now.time_since_epoch().count(), std::memory_order_release);
}

/// The beat comes before the limit that is counted from it: who sees the limit sees the beat, or a later one.
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

/// The signal comes last: who sees it sees the rest.
void GuardSharedMemory::note(const StopSentByGuard& request) {
  asked_at_.store(request.at.time_since_epoch().count(), std::memory_order_relaxed);
  auto place = had_ended_.begin();
  for (const pid_t pid : request.had_ended) {
    if (place != had_ended_.end()) {
      (place++)->store(pid, std::memory_order_relaxed);
    }
  }
  asked_by_.store(request.signal, std::memory_order_release);
}

std::optional<StopSentByGuard> GuardSharedMemory::guards_request() const {
  StopSentByGuard request;
  request.signal = asked_by_.load(std::memory_order_acquire);
  if (request.signal == 0) {
    return std::nullopt;
  }
  request.at = Instant(Instant::duration(asked_at_.load(std::memory_order_relaxed)));
  for (const std::atomic<pid_t>& place : had_ended_) {
    if (const pid_t pid = place.load(std::memory_order_relaxed); pid != 0) {
      request.had_ended.insert(pid);
    }
  }
  return request;
}

bool GuardSharedMemory::add_helper(pid_t pid) {
  for (std::atomic<pid_t>& place : helpers_) {
    pid_t nobody = 0;
    if (place.compare_exchange_strong(nobody, pid)) {
      return true;
    }
  }
  return false;
}

void GuardSharedMemory::remove_aside(pid_t pid) {
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
