#pragma once

// Ranks that end with 0 while others work on: when that is an error, and which. Part of the leader:
// pure.

#include "gang/protocol/durations.hpp"

#include "gang/events.hpp"
#include "gang/options.hpp"
#include "supervise/job_end.hpp"

#include <optional>
#include <string>

namespace muster::gang {

class EarlyExit {
 public:
  explicit EarlyExit(const GangOptions& options)
      : on_early_exit_(options.on_early_exit), timeout_(options.early_exit_timeout) {}

  /// An attempt starts: nobody has ended yet.
  void begin();
  void note_success(NodeRank node, const std::string& host, const Succeeded& worker, Instant now);
  [[nodiscard]] bool has_anybody_ended() const { return first_.has_value(); }
  /// Rank 0 has ended with 0: with PyTorch it took the store with it.
  [[nodiscard]] bool has_rank_zero_ended() const { return rank_zero_ended_; }

  /// When those who still run are not waited for any more; empty: without limit.
  [[nodiscard]] std::optional<Instant> deadline() const { return deadline_; }
  void cancel_deadline() { deadline_.reset(); }

  /// How the attempt ends after the deadline. With a failure where early exits are forbidden; else
  /// the ranks that still run are taken to hang.
  [[nodiscard]] JobEnd end_after_deadline(Instant now) const;

 private:
  struct FirstSuccess {
    NodeRank node;
    std::string host;
    Succeeded worker;
    Instant at;
  };

  OnEarlyExit on_early_exit_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::optional<FirstSuccess> first_;
  bool rank_zero_ended_ = false;
  std::optional<Instant> deadline_;
};

}  // namespace muster::gang
