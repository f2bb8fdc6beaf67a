#pragma once

// What the leader knows about the attempt that runs: its nodes, how many of them are done, who failed
// first. Part of the leader: pure.

#include "gang/events.hpp"
#include "gang/gang_config.hpp"
#include "gang/protocol/fence.hpp"
#include "gang/protocol/roster.hpp"
#include "supervise/job_end.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

class CurrentAttempt {
 public:
  /// It starts on these nodes, in the order of their ranks.
  void begin(std::vector<LinkId> nodes, Instant now);
  /// It is over: what is noted from here on is of the next one.
  void advance();

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const std::vector<LinkId>& nodes() const { return nodes_; }
  [[nodiscard]] Instant::duration ran(Instant now) const { return now - started_; }

  /// Nothing is alive on one of its nodes any more, or that node is lost.
  void note_node_ended() { --not_ended_; }
  [[nodiscard]] bool is_over() const { return not_ended_ == 0; }

  /// All workers of one of its nodes that decide success have ended with 0.
  void note_node_succeeded() { --not_succeeded_; }
  /// A process of a role that decides has ended with 0.
  void note_deciding_role(const std::string& role) { deciding_roles_.insert(role); }
  [[nodiscard]] const std::set<std::string>& deciding_roles() const { return deciding_roles_; }
  [[nodiscard]] bool has_succeeded() const { return not_succeeded_ == 0; }

  /// The attempt ends because of it, which is the first one as far as is known.
  void note_first_failure(Failure failure) { first_failure_ = std::move(failure); }
  /// The same, where the attempt ended for another reason: one of those that are known is it.
  void take_first_failure();
  /// The first one of a node, before the end reached it; told again when the node has ended, now with its
  /// last lines.
  void note_failure(Failure failure);
  /// What else failed on a node that has ended.
  void note_other_failures(OtherFailures others) { other_failures_.add(std::move(others)); }
  /// To be called when it is over: the first failure is the likeliest of all nodes' first ones. Clocks of nodes
  /// are not compared: a node that had not heard of the end knew no more of the others' than they of its own.
  void rank_failures();
  [[nodiscard]] const std::optional<Failure>& first_failure() const { return first_failure_; }
  [[nodiscard]] const OtherFailures& other_failures() const { return other_failures_; }

  /// What --progress-file shows on one node: some progress is progress.
  void note_progress(std::optional<bool> made_progress);
  [[nodiscard]] std::optional<bool> made_progress() const { return made_progress_; }

  /// The agent of the leader's node is told why it is being ended, and tells those who look on.
  void note_told_here() { is_told_here_ = true; }
  [[nodiscard]] bool is_loss() const { return end_without_restart_.verdict == Verdict::Lost; }
  [[nodiscard]] bool is_told_here() const { return is_told_here_; }

  /// It ends so that nodes that have come take part in the next one.
  void note_scaling_up() { is_scaling_up_ = true; }
  [[nodiscard]] bool is_scaling_up() const { return is_scaling_up_; }

  /// Why it is being ended, and how the job ends if no other attempt follows.
  void note_ending(std::string reason, JobEnd end);
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const JobEnd& end_without_restart() const { return end_without_restart_; }

 private:
  int number_ = 0;
  std::vector<LinkId> nodes_;
  Instant started_;
  std::size_t not_ended_ = 0;
  std::size_t not_succeeded_ = 0;
  std::set<std::string> deciding_roles_;
  std::optional<Failure> first_failure_;
  std::vector<Failure> failures_;  ///< the first ones of nodes, as they were heard of
  OtherFailures other_failures_;
  std::optional<bool> made_progress_;
  bool is_told_here_ = false;
  bool is_scaling_up_ = false;
  std::string reason_;
  JobEnd end_without_restart_;
};

// Ranks that end with 0 while others work on: when that is an error, and which. Part of the leader:
// pure.

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
