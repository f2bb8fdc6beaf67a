#pragma once

// Has the nodes run the command of --preflight-command before an attempt, and names those where it fails
// (docs/preflight.md). Part of the leader: pure.

#include "gang/preflight_values.hpp"
#include "gang/protocol/gang_state.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

/// A node with which the next attempt may not start.
struct UnfitNode {
  LinkId link = kOwnLink;
  std::string why;     ///< a sentence that names the node
  std::string how;     ///< "differs from the others"
  std::string reason;  ///< the difference or failure, counted against the node; empty: not counted
};

/// Removes a node that has left. If it was the first, a spare may have its seat now: removes all, to judge them anew.
void forget_unfit(std::vector<UnfitNode>& unfit, LinkId link);

/// Has all nodes with seats run the command of their own option at the same time, if the leader has such a command.
/// If an attempt follows only because nodes have come, only the new nodes run it.
class PreflightCommand {
 public:
  /// Limit of the wait for the answer after the command's time: a grace of 5 s for the command, 10 s more for its
  /// helper process, and 5 s in case that has to wait for a CPU.
  static constexpr std::chrono::seconds kTimeToAnswer{20};
  /// Added to three times the usual time of the others: a last node whose command takes longer is named.
  static constexpr std::chrono::seconds kLateBy{5};
  /// If the commands take longer than this, the leader logs how long they took.
  static constexpr std::chrono::seconds kNoticed{1};
  /// Time until the leader first logs where the command still runs. Each further line comes after twice that time.
  static constexpr std::chrono::seconds kFirstProgress{10};

  /// The state outlives it.
  explicit PreflightCommand(GangState& gang) : gang_(gang) {}

  /// Takes the answer to the question. False: the report answers another one.
  bool take(LinkId link, const StatusReport& report, Instant now);
  void forget(LinkId link);
  /// An attempt is ending.
  void note_ending() { has_only_grown_ = gang_.attempt.is_scaling_up(); }
  void on_tick(Instant now);
  std::optional<Instant> next_wake() const { return due_; }

  /// True while the next attempt may not start: the command runs on a node, or has failed on one.
  bool holds_back(Instant now);
  /// The unfit nodes among those that have seats; empty: all are fit.
  const std::vector<UnfitNode>& unfit() const { return unfit_; }

 private:
  struct Run {
    Instant asked;
    std::optional<Instant> ended{};
    std::string answer{};
  };

  void begin_attempt();
  void ask(const std::vector<LinkId>& nodes, Instant now);
  void give_up_silent(Instant now);
  void say_running(const std::vector<LinkId>& nodes, Instant now);
  void follow_last(const std::vector<LinkId>& nodes, Instant now);
  void conclude(const std::vector<LinkId>& nodes);
  void say_longest(const std::vector<Instant::duration>& taken);
  std::vector<Instant::duration> times(const std::vector<LinkId>& nodes) const;

  GangState& gang_;
  std::map<LinkId, Run> runs_;
  std::optional<int> attempt_;  ///< the attempt to which the answers belong
  bool has_only_grown_ = false;
  bool is_open_ = false;                              ///< the leader has not yet logged the result of the runs
  std::optional<Instant> due_;                        ///< when the leader looks at the runs again
  Instant::duration next_progress_ = kFirstProgress;  ///< time from the question to the next line about progress
  std::set<std::string> said_;                        ///< lines that were logged for this attempt
  std::vector<UnfitNode> unfit_;
};

}  // namespace muster::gang
