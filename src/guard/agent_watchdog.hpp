#pragma once

// Decides for the guard whether the agent still works.

#include "process/guard_memory.hpp"

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace muster {

// Pure, without clock and processes. The memory that guard and agent share is in process/guard_memory.hpp.

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
/// An agent that beats again is left alone. So is, for a while, one that was asked to stop and only gets no CPU; one
/// that uses CPU time without a beat is in an endless loop. If the guard itself was stopped, the agent, which was
/// probably stopped with it, gets a moment to beat, unless other nodes have gone on meanwhile.
class AgentWatchdog {
 public:
  using Instant = AgentHeartbeat::Instant;

  /// An agent that handles a stop request beats within this time.
  static constexpr std::chrono::milliseconds kTimeToAnswer{1'000};
  /// Time for which an agent that was asked to stop may be silent after its workers' grace.
  static constexpr std::chrono::milliseconds kSilenceAtTheEnd{1'000};
  /// Time between two samples of a silent agent, after which it counts as stuck.
  static constexpr std::chrono::milliseconds kSampleInterval{200};
  /// Limit of the silence of an agent that waits for a CPU.
  static constexpr std::chrono::milliseconds kSilenceOfRunnable{10'000};
  /// A poll that is late by more than this shows that the guard itself was stopped.
  static constexpr std::chrono::milliseconds kLateWakeup{500};
  /// Time in which an agent that was stopped together with the guard has to beat.
  static constexpr std::chrono::milliseconds kSecondChance{1'000};

  enum class Act {
    Nothing,
    AskWorkers,  ///< send workers the stop signal, which the agent does not forward
    KillJob      ///< kill the agent and every process of the job
  };

  /// `grace`: time of workers between stop signal and SIGKILL. `see` is called only when the agent is late.
  AgentWatchdog(std::chrono::milliseconds grace, std::function<ProcessSample()> see)
      : grace_(grace), see_(std::move(see)) {}

  /// Notes that the agent got a stop request. A repeated one ends the grace if it `means_now`.
  void on_stop_asked(Instant now, bool means_now);

  Act check(const AgentHeartbeat& heartbeat, Instant now);
  /// Time of the next poll; empty: none before the next event.
  std::optional<Instant> next_poll() const { return next_poll_; }

  /// The reason for KillJob. It completes a sentence about the agent.
  const std::string& why() const { return why_; }

 private:
  struct SampledAgent {
    Instant at;
    ProcessSample agent;
  };

  std::optional<Instant> end_of_lease(const AgentHeartbeat& heartbeat) const;
  Instant silent_since(const AgentHeartbeat& heartbeat) const;
  bool is_stuck(const AgentHeartbeat& heartbeat, Instant now);
  Act take_over(Instant last_sign, Instant now);
  bool is_unheard(const AgentHeartbeat& heartbeat) const;
  void plan(const AgentHeartbeat& heartbeat);
  Instant grace_until(Instant moment) const;

  std::chrono::milliseconds grace_;
  std::function<ProcessSample()> see_;
  std::optional<Instant> asked_;      ///< when the agent was asked to stop
  std::optional<Instant> kill_from_;  ///< end of the workers' grace
  std::optional<Instant> next_poll_;
  Instant grace_until_;
  std::optional<SampledAgent> seen_;  ///< first sample of the agent in this silence
  bool has_asked_workers_ = false;
  std::string why_;
};

}  // namespace muster
