#pragma once

// Records what the leader knows about the current attempt: its nodes, how many are done, and the first failure. Part
// of the leader: pure.

#include "gang/events.hpp"
#include "gang/gang_config.hpp"
#include "gang/protocol/fence.hpp"
#include "gang/protocol/roster.hpp"
#include "supervise/job_end.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

class CurrentAttempt {
 public:
  /// The attempt starts on these nodes, in the order of their ranks.
  void begin(std::vector<LinkId> nodes, Instant now);
  /// The attempt is over: later notes belong to the next one.
  void advance();

  int number() const { return number_; }
  const std::vector<LinkId>& nodes() const { return nodes_; }
  Instant::duration ran(Instant now) const { return now - started_; }

  /// One node has ended: no process of the attempt is alive there, or the node is lost.
  void note_node_ended() { --not_ended_; }
  bool is_over() const { return not_ended_ == 0; }

  /// All deciding workers of one node have exited with 0.
  void note_node_succeeded() { --not_succeeded_; }
  /// The roles of which a process that decides success has exited with 0.
  std::vector<std::string> deciding_roles() const;
  /// A process has exited with 0 by itself. It may be reported after a failure that it has caused.
  void note_success(NodeRank node, const std::string& host, const Succeeded& worker);
  /// Returns the worker of the failed rank's role that left first, if the failure only shows that a peer was gone.
  std::optional<EarlyLeaver> left_before(const Failure& failure) const;
  bool has_succeeded() const { return not_succeeded_ == 0; }

  /// The attempt ends because of this failure, the first one as far as is known.
  void note_first_failure(Failure failure) { first_failure_ = std::move(failure); }
  /// Chooses the first failure of an attempt that ended for another reason.
  void take_first_failure();
  /// Records a node's first failure, which happened before the node learned of the end. Called again when the node
  /// has ended: then it has the last output lines.
  void note_failure(Failure failure);
  /// Records the further failures of a node that has ended.
  void note_other_failures(OtherFailures others) { other_failures_.add(std::move(others)); }
  /// Determines the first failure when the attempt is over: the likeliest of the nodes' first failures. Clocks of
  /// different nodes are not compared: until it learned of the end, each node knew only of its own failures.
  void rank_failures();
  const std::optional<Failure>& first_failure() const { return first_failure_; }
  const OtherFailures& other_failures() const { return other_failures_; }
  /// Records the ranks of a node of `slots` ranks that ended with an error after a notice.
  void note_erred_after_notice(const std::vector<int>& ranks, int slots) {
    erred_.insert(ranks.begin(), ranks.end());
    have_all_erred_ = have_all_erred_ && static_cast<int>(ranks.size()) >= slots;
  }
  /// False if a rank ended in another way, such as with 143 after its handler had saved.
  bool have_all_erred() const { return have_all_erred_; }
  std::vector<int> erred_after_notice() const { return {erred_.begin(), erred_.end()}; }

  /// Records what --progress-file shows on one node. Progress of any node counts.
  void note_progress(std::optional<bool> made_progress);
  std::optional<bool> made_progress() const { return made_progress_; }

  /// The agent of the leader's node was told the reason for the end, and logs it for the console.
  void note_logged_here() { is_logged_here_ = true; }
  bool is_loss() const { return end_without_restart_.verdict == Verdict::Lost; }
  bool is_logged_here() const { return is_logged_here_; }

  /// The attempt ends so that new nodes take part in the next one.
  void note_scaling_up() { is_scaling_up_ = true; }
  bool is_scaling_up() const { return is_scaling_up_; }

  /// Records why the attempt ends, and how the job ends if no other attempt follows.
  void note_ending(std::string reason, JobEnd end);
  const std::string& reason() const { return reason_; }
  const JobEnd& end_without_restart() const { return end_without_restart_; }

 private:
  int number_ = 0;
  std::vector<LinkId> nodes_;
  Instant started_;
  std::size_t not_ended_ = 0;
  std::size_t not_succeeded_ = 0;
  std::map<std::string, EarlyLeaver> left_first_;  ///< of each role that decides success
  std::optional<Failure> first_failure_;
  std::vector<Failure> failures_;  ///< first failures of nodes, in the order of arrival
  OtherFailures other_failures_;
  std::set<int> erred_;
  bool have_all_erred_ = true;
  std::optional<bool> made_progress_;
  bool is_logged_here_ = false;
  bool is_scaling_up_ = false;
  std::string reason_;
  JobEnd end_without_restart_;
};

// Decides when ranks that exit with 0 while others run are an error, and which. Part of the leader: pure.

class EarlyExit {
 public:
  explicit EarlyExit(const GangOptions& options)
      : on_early_exit_(options.on_early_exit), timeout_(options.early_exit_timeout) {}

  /// An attempt starts: no rank has exited yet.
  void begin();
  void note_success(NodeRank node, const std::string& host, const Succeeded& worker, Instant now);
  bool has_any_ended() const { return first_.has_value(); }
  /// Rank 0 has exited with 0: with PyTorch the store has gone with it.
  bool has_rank_zero_ended() const { return rank_zero_ended_; }

  /// Moment from which the ranks that still run are not waited for; empty: no limit.
  std::optional<Instant> deadline() const { return deadline_; }
  void cancel_deadline() { deadline_.reset(); }

  /// Returns how the attempt ends after the deadline: with a failure if early exits are forbidden, otherwise because
  /// the ranks that still run are assumed to hang.
  JobEnd end_after_deadline(Instant now) const;

 private:
  struct FirstSuccess {
    NodeRank node;
    std::string host;
    Succeeded worker;
    Instant at;
  };

  std::string describe_others() const;

  OnEarlyExit on_early_exit_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::optional<FirstSuccess> first_;
  std::set<int> ended_;  ///< ranks
  bool rank_zero_ended_ = false;
  std::optional<Instant> deadline_;
};

}  // namespace muster::gang
