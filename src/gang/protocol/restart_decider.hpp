#pragma once

// Decides on restarts, and computes the growing pauses before restarts and between dials. docs/gang.md lists the
// pauses, and a test compares them.

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
/// Pause between the first two dials, before it is varied by agent; each further pause is half as long again.
inline constexpr std::chrono::milliseconds kFirstDialPause{50};
inline constexpr std::chrono::milliseconds kLongestDialPause{1'000};

/// Returns the pause before the k-th restart in a row: none, `first`, twice that, and so on.
inline std::chrono::milliseconds restart_pause(int in_a_row, std::chrono::milliseconds first) {
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
inline std::chrono::milliseconds dial_pause(int dials) {
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
  /// True if too many attempts in a row made no progress, so that another one is not worth its time.
  bool is_hopeless() const;
  /// Number of attempts in a row without progress.
  int without_progress() const { return without_progress_; }

  /// Number of attempts in a row that failed soon, with equal status and last line, on any rank.
  int alike() const { return alike_; }

  bool may_restart(Instant now) const;
  void note_restart(Instant now, Instant::duration ran);
  std::size_t restarts() const { return restarts_.size(); }
  /// Pause before the restart that was noted last.
  std::chrono::milliseconds backoff() const;

  /// A process of an attempt could not be killed: no other attempt may start beside it.
  void forbid_restarts() { is_forbidden_ = true; }
  bool is_forbidden() const { return is_forbidden_; }

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

}  // namespace muster::gang
