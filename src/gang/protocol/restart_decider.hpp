#pragma once

// Defines the growing pauses before restarts and between dials, decides on restarts, and times the wait for nodes.
// docs/gang.md lists the pauses, and a test compares them.

#include "gang/gang_config.hpp"
#include "gang/protocol/fence.hpp"
#include "supervise/job_end.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

/// The longest pause before a restart, unless --restart-backoff itself is longer.
inline constexpr std::chrono::seconds kLongestBackoff{60};
/// Pause between the first two dials, before it is spread; each further one is half as long again.
inline constexpr std::chrono::milliseconds kFirstDialPause{50};
inline constexpr std::chrono::milliseconds kLongestDialPause{1'000};

/// Returns the pause before the k-th restart in a row: none, `first`, twice that, and so on.
[[nodiscard]] inline std::chrono::milliseconds restart_pause(int in_a_row, std::chrono::milliseconds first) {
  if (in_a_row <= 1) {
    return std::chrono::milliseconds(0);
  }
  std::chrono::milliseconds pause = first;
  for (int i = 2; i < in_a_row && pause < kLongestBackoff; ++i) {
    pause *= 2;
  }
  return std::min(pause, std::max<std::chrono::milliseconds>(kLongestBackoff, first));
}

/// Returns the pause after the k-th failed dial in a row.
[[nodiscard]] inline std::chrono::milliseconds dial_pause(int dials) {
  std::chrono::milliseconds pause = kFirstDialPause;
  for (int i = 1; i < dials && pause < kLongestDialPause; ++i) {
    pause = pause * 3 / 2;
  }
  return std::min(pause, kLongestDialPause);
}

// Decides whether and when the job restarts: counts restarts and attempts without progress, and computes the pause.
// Part of the leader: pure.

class RestartDecider {
 public:
  explicit RestartDecider(RestartPolicy policy) : policy_(std::move(policy)) {}

  /// Judges an attempt that is over. `made_progress` is what --progress-file shows; without such a file, an attempt
  /// that fails soon and like the one before made no progress.
  void judge(const std::optional<Failure>& first_failure, std::optional<bool> made_progress, Instant::duration ran);
  /// True if so many attempts in a row made no progress that another one is not worth its time.
  [[nodiscard]] bool is_hopeless() const;
  /// Number of attempts in a row without progress.
  [[nodiscard]] int without_progress() const { return without_progress_; }

  /// Number of attempts in a row that failed soon, with equal status and last line, whatever the rank.
  [[nodiscard]] int alike() const { return alike_; }

  [[nodiscard]] bool may_restart(Instant now) const;
  void note_restart(Instant now, Instant::duration ran);
  [[nodiscard]] std::size_t restarts() const { return restarts_.size(); }
  /// Pause before the restart that was noted last.
  [[nodiscard]] std::chrono::milliseconds backoff() const;

  /// A process of an attempt could not be killed: no other attempt may start beside it.
  void forbid_restarts() { is_forbidden_ = true; }
  [[nodiscard]] bool is_forbidden() const { return is_forbidden_; }

 private:
  RestartPolicy policy_;
  std::string last_signature_;  ///< rank and status of the last first failure
  std::string last_failure_;    ///< status and last line of the last first failure
  int without_progress_ = 0;
  int alike_ = 0;
  int restarts_in_a_row_ = 0;
  std::vector<Instant> restarts_;
  bool is_forbidden_ = false;
};

// Decides how long the leader waits for nodes, and when it logs the progress. Part of the leader: pure.

/// Time limit for further nodes once the job could continue with those that are here.
class LastCall {
 public:
  explicit LastCall(std::chrono::milliseconds length) : length_(length) {}

  /// Starts the time limit when the job can continue, and ends it at once unless `is_needed`: no further node can
  /// come. Cancelled when the job cannot continue; ends at `latest`.
  void note(bool can_go_on, bool is_needed, Instant now, Instant latest = Instant::max());
  void cancel() { end_.reset(); }
  [[nodiscard]] std::optional<Instant> end() const { return end_; }
  [[nodiscard]] bool is_over(Instant now) const { return end_ && now >= *end_; }

 private:
  std::chrono::milliseconds length_;
  std::optional<Instant> end_;
};

class RendezvousTimer {
 public:
  RendezvousTimer(const GangOptions& options, Instant now)
      : timeout_(options.timeout), last_call_(options.last_call), inputs_timeout_(options.inputs_timeout) {
    begin(now);
  }

  /// The wait for an attempt begins.
  void begin(Instant now);

  [[nodiscard]] Instant since() const { return since_; }
  [[nodiscard]] Instant deadline() const { return deadline_; }
  [[nodiscard]] Instant next_wake() const;

  /// Records whether enough nodes are ready. If so the last call starts for the others, or ends at once if no other
  /// node is awaited; it is cancelled when too few are left.
  void note_enough(bool is_enough, bool is_last_call_needed, Instant now) {
    last_call_.note(is_enough, is_last_call_needed, now, deadline_);
  }
  [[nodiscard]] bool is_last_call_over(Instant now) const { return last_call_.is_over(now); }

  /// Records whether the nodes' values do not fit together yet, because the input of some node is old.
  void note_pending(bool is_pending, Instant now);
  [[nodiscard]] bool is_pending_in_vain(Instant now) const { return pending_until_ && now >= *pending_until_; }

  /// The job ends. Gives nodes that are on their way a few seconds to join and hear the reason.
  void note_end(Instant now) { end_at_ = end_at_.value_or(now + kTimeToTellWhy); }
  [[nodiscard]] bool is_ending() const { return end_at_.has_value(); }
  [[nodiscard]] bool is_end_due(Instant now) const { return end_at_ && now >= *end_at_; }

  /// True when a progress line is due; schedules the next one.
  [[nodiscard]] bool take_progress(Instant now);
  void log_progress_at(Instant moment) { next_progress_ = moment; }

  /// True once, shortly before the deadline: the names of absent hosts are to be resolved.
  [[nodiscard]] bool take_resolve(Instant now);
  void note_unresolved(std::set<std::string> hosts) { unresolved_ = std::move(hosts); }
  [[nodiscard]] const std::set<std::string>& unresolved() const { return unresolved_; }

 private:
  std::chrono::milliseconds timeout_;
  LastCall last_call_;
  std::chrono::milliseconds inputs_timeout_;
  Instant since_;
  Instant deadline_;
  std::optional<Instant> pending_until_;
  std::optional<Instant> end_at_;
  Instant next_progress_;
  bool looked_up_ = false;
  std::set<std::string> unresolved_;
};

}  // namespace muster::gang
