#pragma once

// Whether and when the job starts again: how often it has, whether its attempts get anywhere, how long
// to wait between two of them. Part of the leader: pure.

#include "gang/protocol/durations.hpp"

#include "gang/options.hpp"
#include "supervise/job_end.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

class RestartDecider {
 public:
  explicit RestartDecider(RestartPolicy policy) : policy_(std::move(policy)) {}

  /// An attempt is over, and nothing of it is left. `made_progress` is what --progress-file shows;
  /// without one, an attempt that fails soon and as the one before got nowhere.
  void judge(const std::optional<Failure>& first_failure,
             std::optional<bool> made_progress,
             Instant::duration ran);
  /// So many attempts in a row got nowhere that another one is not worth its time.
  [[nodiscard]] bool is_hopeless() const;
  /// Attempts in a row that got nowhere.
  [[nodiscard]] int without_progress() const { return without_progress_; }

  /// Attempts in a row that failed soon, with the same status and the same last words, whatever the rank.
  [[nodiscard]] int alike() const { return alike_; }

  [[nodiscard]] bool may_restart(Instant now) const;
  void note_restart(Instant now, Instant::duration ran);
  [[nodiscard]] std::size_t restarts() const { return restarts_.size(); }
  /// Before the restart that was noted last.
  [[nodiscard]] std::chrono::milliseconds backoff() const;

  /// Something of an attempt could not be killed: no other one may start beside it.
  void forbid_restarts() { is_forbidden_ = true; }
  [[nodiscard]] bool is_forbidden() const { return is_forbidden_; }

 private:
  RestartPolicy policy_;
  std::string last_signature_;  ///< rank and status of the last first failure
  std::string last_words_;      ///< status and last line of the last first failure
  int without_progress_ = 0;
  int alike_ = 0;
  int restarts_in_a_row_ = 0;
  std::vector<Instant> restarts_;
  bool is_forbidden_ = false;
};

}  // namespace muster::gang
