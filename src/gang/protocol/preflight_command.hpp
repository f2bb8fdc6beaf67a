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
  std::string reason;  ///< for the node's memory: in what it differs; empty: it does not count
};

/// Forgets a node that has left. If it was the first one, its seat may have a spare now: then all are judged anew.
void forget_unfit(std::vector<UnfitNode>& unfit, LinkId link);

/// Does nothing if the leader has no such command. All nodes that have seats run the command of their own option at the same
/// time. Before an attempt that follows only because nodes have come, only the new nodes run it.
class PreflightCommand {
 public:
  /// Limit of the answer, from the end of the command's time on: the command gets a grace of 5 s, its helper process 10 s
  /// more, and 5 s again while that one waits for a CPU.
  static constexpr std::chrono::seconds kTimeToAnswer{20};
  /// The last node is named if its command takes longer than three times the usual time of the others, plus this.
  static constexpr std::chrono::seconds kNotFar{5};
  /// If the commands take longer than this, the leader prints how long they took.
  static constexpr std::chrono::seconds kNoticed{1};
  /// When the leader says for the first time where the command still runs. Each further time is twice as late.
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
  bool is_open_ = false;                              ///< the leader has not yet said what the runs have shown
  std::optional<Instant> due_;                        ///< when the leader looks at the runs again
  Instant::duration next_progress_ = kFirstProgress;  ///< time from the question to the next line about progress
  std::set<std::string> said_;                        ///< for this attempt
  std::vector<UnfitNode> unfit_;
};

}  // namespace muster::gang
