#pragma once

// What guard and agent tell each other without a system call. Private to run/.

#include "base/result.hpp"
#include "gang/events.hpp"

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>

namespace muster {

/// How the agent is, as its guard sees it.
struct AgentHeartbeat {
  using Instant = std::chrono::steady_clock::time_point;

  Instant beat;       ///< when the agent's loop was last seen to turn
  gang::Lease lease;  ///< counted from the beat
};

/// That the guard has asked the workers to end, because the agent did not.
struct StopSentByGuard {
  using Instant = AgentHeartbeat::Instant;

  int signal = 0;
  Instant at;
  std::set<pid_t> had_ended;  ///< children of the agent that were past answering
};

/// A page of memory that is made before the process splits in two, and that both halves have. It is never given back.
/// Each part has one writer, the other half reads: in any order, at any time, and with either of them stopped in between.
class GuardSharedMemory {
 public:
  using Instant = AgentHeartbeat::Instant;

  /// Maps a page; it lasts as long as the two processes.
  [[nodiscard]] static Result<GuardSharedMemory*> make();

  GuardSharedMemory(const GuardSharedMemory&) = delete;
  GuardSharedMemory& operator=(const GuardSharedMemory&) = delete;
  ~GuardSharedMemory() = default;

  /// The agent is there.
  void beat(Instant now);
  /// Other nodes count on this one, from now on.
  void renew(const gang::Lease& lease, Instant now);
  [[nodiscard]] AgentHeartbeat heartbeat() const;

  /// How the job ends is known: its exit code.
  void decide(int exit_code) { exit_code_.store(exit_code); }
  [[nodiscard]] std::optional<int> decided() const {
    const int code = exit_code_.load();
    return code >= 0 ? std::optional(code) : std::nullopt;
  }

  /// By the guard, before it signals anybody. Of those that had ended it remembers some hundreds.
  void note(const StopSentByGuard& request);
  [[nodiscard]] std::optional<StopSentByGuard> guards_request() const;

  /// A process of the agent that works on files, and may hang in them for good. It is killed and not waited for.
  /// False when there are too many already.
  [[nodiscard]] bool add_helper(pid_t pid);
  /// To be called before it is buried: afterwards its pid may be somebody else's.
  void remove_aside(pid_t pid);
  [[nodiscard]] std::set<pid_t> helpers() const;

 private:
  static constexpr std::size_t kMostAside = 64;
  static constexpr std::size_t kMostEnded = 512;
  using Ticks = Instant::rep;

  GuardSharedMemory() = default;

  static_assert(std::atomic<Ticks>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);
  std::atomic<Ticks> beat_{0};
  std::atomic<Ticks> limit_{0};     ///< 0: none
  std::atomic<Ticks> gone_by_{0};   ///< 0: never
  std::atomic<int> exit_code_{-1};  ///< -1: nothing is decided
  std::array<std::atomic<pid_t>, kMostAside> helpers_{};
  std::atomic<int> asked_by_{0};  ///< 0: the guard has asked nobody
  std::atomic<Ticks> asked_at_{0};
  std::array<std::atomic<pid_t>, kMostEnded> had_ended_{};
};

}  // namespace muster
