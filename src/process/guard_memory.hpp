#pragma once

// Memory that guard and agent share: heartbeats, the decided exit code, requests of the guard.

#include "base/result.hpp"
#include "gang/events.hpp"

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>

namespace muster {

/// The agent's heartbeat as its guard sees it.
struct AgentHeartbeat {
  using Instant = std::chrono::steady_clock::time_point;

  Instant beat;       ///< last turn of the agent's event loop
  gang::Lease lease;  ///< counted from the beat
};

/// The guard has sent the workers a stop signal, because the agent did not.
struct StopSentByGuard {
  using Instant = AgentHeartbeat::Instant;

  int signal = 0;
  Instant at;
  std::set<pid_t> had_ended;  ///< children of the agent that could not handle the signal any more
};

/// Memory that guard and agent share, made before the fork and never unmapped. Each field has one writer; the other process
/// reads at any time, in any order, and with either of them stopped in between.
class GuardSharedMemory {
 public:
  using Instant = AgentHeartbeat::Instant;

  /// Maps the memory, which lasts as long as both processes.
  [[nodiscard]] static Result<GuardSharedMemory*> make();

  GuardSharedMemory(const GuardSharedMemory&) = delete;
  GuardSharedMemory& operator=(const GuardSharedMemory&) = delete;
  ~GuardSharedMemory() = default;

  /// Heartbeat of the agent.
  void beat(Instant now);
  /// Renews the lease: the time for which other nodes rely on this agent, counted from `now`.
  void renew(const gang::Lease& lease, Instant now);
  AgentHeartbeat heartbeat() const;

  /// Exit code of the job, once its end is decided.
  void decide(int exit_code) { exit_code_.store(exit_code); }
  std::optional<int> decided() const {
    const int code = exit_code_.load();
    return code >= 0 ? std::optional(code) : std::nullopt;
  }

  /// Written by the guard, once, before it sends a signal.
  void note(const StopSentByGuard& request);
  std::optional<StopSentByGuard> stop_sent_by_guard() const;

  /// Adds a helper process, which may hang in a file system for good, and which is killed without waiting for it.
  /// False: there are too many already.
  bool add_helper(pid_t pid);
  /// Forgets a helper process. Call it before the reaping: afterwards the pid may belong to another process.
  void remove_helper(pid_t pid);
  std::set<pid_t> helpers() const;

 private:
  static constexpr std::size_t kMostHelpers = 64;
  static constexpr std::size_t kMostPids = std::size_t{1} << 22U;  ///< the kernel has no more (PID_MAX_LIMIT)
  using Ticks = Instant::rep;

  GuardSharedMemory() = default;

  static_assert(std::atomic<Ticks>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);
  std::atomic<Ticks> beat_{0};
  std::atomic<Ticks> limit_{0};     ///< 0: none
  std::atomic<Ticks> gone_by_{0};   ///< 0: never
  std::atomic<int> exit_code_{-1};  ///< -1: nothing is decided
  std::array<std::atomic<pid_t>, kMostHelpers> helpers_{};
  std::atomic<int> asked_by_{0};  ///< 0: the guard has sent nothing
  std::atomic<Ticks> asked_at_{0};
  std::atomic<std::size_t> ended_count_{0};
  std::array<pid_t, kMostPids> had_ended_;  ///< not cleared: a page of it takes memory only once it is written
};

}  // namespace muster
