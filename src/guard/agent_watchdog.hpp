#pragma once

// What guard and agent tell each other without a system call.

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
  [[nodiscard]] std::optional<StopSentByGuard> stop_sent_by_guard() const;

  /// A process of the agent that works on files, and may hang in them for good. It is killed and not waited for.
  /// False when there are too many already.
  [[nodiscard]] bool add_helper(pid_t pid);
  /// To be called before it is buried: afterwards its pid may be somebody else's.
  void remove_in_helper(pid_t pid);
  [[nodiscard]] std::set<pid_t> helpers() const;

 private:
  static constexpr std::size_t kMostHelpers = 64;
  static constexpr std::size_t kMostEnded = 512;
  using Ticks = Instant::rep;

  GuardSharedMemory() = default;

  static_assert(std::atomic<Ticks>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);
  std::atomic<Ticks> beat_{0};
  std::atomic<Ticks> limit_{0};     ///< 0: none
  std::atomic<Ticks> gone_by_{0};   ///< 0: never
  std::atomic<int> exit_code_{-1};  ///< -1: nothing is decided
  std::array<std::atomic<pid_t>, kMostHelpers> helpers_{};
  std::atomic<int> asked_by_{0};  ///< 0: the guard has asked nobody
  std::atomic<Ticks> asked_at_{0};
  std::array<std::atomic<pid_t>, kMostEnded> had_ended_{};
};

// Whether the agent still does its work, as its guard judges it: pure, no clock and no process.

/// An agent that is late, as the system shows it.
struct ProcessSample {
  bool may_move = true;             ///< false: it is stopped
  bool waits_for_core = false;      ///< or has one
  std::chrono::milliseconds cpu{};  ///< what it has computed since it began
};

/// Is told when the agent is asked to stop, looks at its vitals when it wants to, and says what the guard is to do.
///
///   Resting ── other nodes count on it ──▶ waits for beats ── its limit is over ──▶ KillJob
///      └────── asked to stop ───────────▶ no beat: AskWorkers ── the grace is over, no beat ──▶ KillJob
///
/// An agent that beats again is left alone, whatever was thought of it. So is, for a while, one that is late where it was asked
/// and that merely gets no core: it moves. One that uses the cores that it gets and does not beat turns without end. A guard that was stopped itself gives the agent,
/// which was probably stopped with it, a moment to beat; but not where the other nodes have gone on meanwhile.
class AgentWatchdog {
 public:
  using Instant = AgentHeartbeat::Instant;

  /// An agent that acts on a request to stop shows it within this time.
  static constexpr std::chrono::milliseconds kTimeToAnswer{1'000};
  /// Once the workers' grace is over an agent that was asked to stop may be silent so long,
  static constexpr std::chrono::milliseconds kSilenceAtTheEnd{1'000};
  /// and is looked at so long before it is taken for stuck.
  static constexpr std::chrono::milliseconds kSampleInterval{200};
  /// One that waits for a core has so long.
  static constexpr std::chrono::milliseconds kSilenceOfRunnable{10'000};
  /// A look that comes so much later than it was wanted: we were stopped.
  static constexpr std::chrono::milliseconds kLateWakeup{500};
  /// In which the agent can beat that was stopped with us.
  static constexpr std::chrono::milliseconds kSecondChance{1'000};

  enum class Act {
    Nothing,
    AskWorkers,  ///< the agent does not pass on what asked it to stop
    KillJob      ///< end the agent and everything of the job
  };

  /// `grace`: what workers have between a request to end and KILL.
  explicit AgentWatchdog(std::chrono::milliseconds grace) : grace_(grace) {}

  /// The agent was asked to end the job; for the second time: at once.
  void on_stop_asked(Instant now);

  /// `see` is called only when the agent is late.
  [[nodiscard]] Act look(const AgentHeartbeat& heartbeat, Instant now, const std::function<ProcessSample()>& see);
  /// When to look again; empty: not before something happens.
  [[nodiscard]] std::optional<Instant> next_poll() const { return next_poll_; }

  /// Why it said KillJob, behind the agent's name.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  struct SampledAgent {
    Instant at;
    ProcessSample agent;
  };

  [[nodiscard]] std::optional<Instant> end_of_lease(const AgentHeartbeat& heartbeat) const;
  [[nodiscard]] Instant silent_since(const AgentHeartbeat& heartbeat) const;
  [[nodiscard]] bool is_stuck(const AgentHeartbeat& heartbeat, Instant now, const std::function<ProcessSample()>& see);
  [[nodiscard]] Act take_over(Instant last_sign, Instant now);
  [[nodiscard]] bool is_unheard(const AgentHeartbeat& heartbeat) const;
  void plan(const AgentHeartbeat& heartbeat);
  [[nodiscard]] Instant grace_until(Instant moment) const;

  std::chrono::milliseconds grace_;
  std::optional<Instant> asked_;      ///< to stop
  std::optional<Instant> kill_from_;  ///< the end of the workers' grace
  std::optional<Instant> next_poll_;
  Instant grace_until_;
  std::optional<SampledAgent> seen_;  ///< in this silence
  bool has_asked_workers_ = false;
  std::string why_;
};

}  // namespace muster
