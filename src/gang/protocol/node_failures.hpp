#pragma once

// Remembers which nodes have failed by themselves in this job (docs/preflight.md). Part of the leader: pure.

#include "base/ranks.hpp"
#include "gang/preflight_values.hpp"
#include "gang/protocol/roster.hpp"
#include "supervise/job_end.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster::gang {

/// The names by which a node is known again: in the next attempt with another rank, or when its agent comes back.
struct NodeName {
  std::string host;
  std::string machine;  ///< empty: not known
  std::string key;      ///< equal for the same node
};
/// Finds the names of a node. A later pod may get the name of an earlier one on any machine, but not its address.
NodeName name_of(const Member& member);

/// A node that was lost during an attempt.
struct NodeLoss {
  NodeRank node;
  std::string why;  ///< "closed the connection"; empty: the node itself is not the reason
};

/// Counts which nodes have failed by themselves, and has the list of earlier jobs.
class NodeFailures {
 public:
  /// Number of failures from which a node is suspect.
  static constexpr int kSuspectFrom = 2;
  static constexpr std::size_t kMostSuspects = 16;

  /// `most` of --node-failures; 0: no limit. `listed`: bad nodes of earlier jobs.
  NodeFailures(int most, std::vector<BadNode> listed) : most_(most), listed_(std::move(listed)) {}

  /// An attempt starts on these nodes.
  void begin(std::vector<NodeName> nodes);
  /// A node of the attempt; null: it has no such rank.
  const NodeName* node(NodeRank rank) const;

  void note_loss(NodeLoss loss) { losses_.push_back(std::move(loss)); }
  /// Nodes that were lost in this attempt. If several are lost at once, one cause is probably behind all of them.
  const std::vector<NodeLoss>& losses() const { return losses_; }

  /// Counts a failure: "in attempt 0 (lost: it closed the connection)". True: from now on the node is suspect.
  bool note(NodeRank rank, const NodeName& name, std::string reason);
  /// Finds the failures of a node; null: it has not failed.
  const Suspect* find(const NodeName& name) const;
  /// "it has failed by itself in attempt 0 (...) and in attempt 1 (...)"; empty: the node is not suspect.
  std::string describe(const NodeName& name) const;
  /// True if it has failed as often as --node-failures says: another node is to have its seat.
  bool is_barred(const NodeName& name) const;
  bool has_barred() const { return has_barred_; }
  /// Finds a node in the list of earlier jobs; null: it is not listed.
  const BadNode* find_listed(const NodeName& name) const;
  bool has_listed() const { return !listed_.empty(); }
  /// Notes that another node has the seat of this failed one, or that this one takes part again.
  void set_left_out(const NodeName& name, bool is_left_out) { failed_.at(name.key).is_left_out = is_left_out; }
  /// The suspect nodes and those that were left out, `kMostSuspects` at most.
  std::vector<Suspect> suspects() const;

 private:
  int most_;
  std::vector<BadNode> listed_;
  bool has_barred_ = false;
  std::vector<NodeName> nodes_;
  std::vector<NodeLoss> losses_;
  std::map<std::string, Suspect> failed_;  ///< by key; those that have failed once, too
};

}  // namespace muster::gang
