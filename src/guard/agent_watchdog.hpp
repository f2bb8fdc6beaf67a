#pragma once

// Memory shared by guard and agent, and the watchdog by which the guard decides whether the agent still works.

#include "base/result.hpp"
#include "gang/events.hpp"

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

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
  /// Other nodes depend on this one from now on.
  void renew(const gang::Lease& lease, Instant now);
  [[nodiscard]] AgentHeartbeat heartbeat() const;

  /// Exit code of the job, once its end is decided.
  void decide(int exit_code) { exit_code_.store(exit_code); }
  [[nodiscard]] std::optional<int> decided() const {
    const int code = exit_code_.load();
    return code >= 0 ? std::optional(code) : std::nullopt;
  }

  /// Written by the guard, once, before it sends a signal.
  void note(const StopSentByGuard& request);
  [[nodiscard]] std::optional<StopSentByGuard> stop_sent_by_guard() const;

  /// Adds a helper process, which may hang in a file system for good, and which is killed without waiting for it.
  /// False: there are too many already.
  [[nodiscard]] bool add_helper(pid_t pid);
  /// To be called before the helper is reaped: afterwards its pid may belong to another process.
  void remove_helper(pid_t pid);
  [[nodiscard]] std::set<pid_t> helpers() const;

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

// The watchdog: pure, without clock and processes.

/// State of an agent that is late.
struct ProcessSample {
  bool may_move = true;             ///< false: stopped
  bool waits_for_core = false;      ///< runnable or running
  std::chrono::milliseconds cpu{};  ///< CPU time since its start
};

/// Hears of stop requests, samples the agent when needed, and tells the guard what to do.
///
///   Resting ── other nodes depend on it ─▶ waits for beats ── its limit is over ──▶ KillJob
///      └────── asked to stop ───────────▶ no beat: AskWorkers ── the grace is over, no beat ──▶ KillJob
///
/// An agent that beats again is left alone. So is, for a while, one that was asked to stop and is late only because it
/// gets no CPU; one that uses its CPU time and does not beat is in an endless loop. A guard that was stopped itself
/// gives the agent, which was probably stopped with it, a moment to beat, unless other nodes have gone on meanwhile.
class AgentWatchdog {
 public:
  using Instant = AgentHeartbeat::Instant;

  /// An agent that handles a stop request beats within this time.
  static constexpr std::chrono::milliseconds kTimeToAnswer{1'000};
  /// After the workers' grace, an agent that was asked to stop may be silent for this long,
  static constexpr std::chrono::milliseconds kSilenceAtTheEnd{1'000};
  /// and is sampled for this long before it counts as stuck.
  static constexpr std::chrono::milliseconds kSampleInterval{200};
  /// Limit for an agent that waits for a CPU.
  static constexpr std::chrono::milliseconds kSilenceOfRunnable{10'000};
  /// A poll that is late by more than this: we were stopped.
  static constexpr std::chrono::milliseconds kLateWakeup{500};
  /// Time for an agent that was stopped with us to beat.
  static constexpr std::chrono::milliseconds kSecondChance{1'000};

  enum class Act {
    Nothing,
    AskWorkers,  ///< send workers the stop signal, which the agent does not forward
    KillJob      ///< kill the agent and every process of the job
  };

  /// `grace`: time of workers between stop signal and SIGKILL. `see` is called only when the agent is late.
  AgentWatchdog(std::chrono::milliseconds grace, std::function<ProcessSample()> see)
      : grace_(grace), see_(std::move(see)) {}

  /// The agent got a stop request. A repeated one ends the grace if it `means_now`.
  void on_stop_asked(Instant now, bool means_now);

  [[nodiscard]] Act check(const AgentHeartbeat& heartbeat, Instant now);
  /// Time of the next poll; empty: none before the next event.
  [[nodiscard]] std::optional<Instant> next_poll() const { return next_poll_; }

  /// Reason of KillJob, to follow the agent's name.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  struct SampledAgent {
    Instant at;
    ProcessSample agent;
  };

  [[nodiscard]] std::optional<Instant> end_of_lease(const AgentHeartbeat& heartbeat) const;
  [[nodiscard]] Instant silent_since(const AgentHeartbeat& heartbeat) const;
  [[nodiscard]] bool is_stuck(const AgentHeartbeat& heartbeat, Instant now);
  [[nodiscard]] Act take_over(Instant last_sign, Instant now);
  [[nodiscard]] bool is_unheard(const AgentHeartbeat& heartbeat) const;
  void plan(const AgentHeartbeat& heartbeat);
  [[nodiscard]] Instant grace_until(Instant moment) const;

  std::chrono::milliseconds grace_;
  std::function<ProcessSample()> see_;
  std::optional<Instant> asked_;      ///< when the agent was asked to stop
  std::optional<Instant> kill_from_;  ///< end of the workers' grace
  std::optional<Instant> next_poll_;
  Instant grace_until_;
  std::optional<SampledAgent> seen_;  ///< in this silence
  bool has_asked_workers_ = false;
  std::string why_;
};

}  // namespace muster
