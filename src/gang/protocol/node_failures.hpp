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

/// Names a node from one attempt to the next, whatever its rank, and when its agent comes again.
struct NodeName {
  std::string host;
  std::string machine;  ///< empty: not known
  std::string key;      ///< equal for the same node
};
/// A pod has the name of another one before it on any machine, but not its address.
NodeName name_of(const Member& member);

/// A node that was lost during an attempt.
struct NodeLoss {
  NodeRank node;
  std::string why;  ///< "closed the connection"; empty: the node itself is not the reason
};

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
  /// The losses of nodes in this attempt. If several nodes are lost at once, one cause is probably behind all of them.
  const std::vector<NodeLoss>& losses() const { return losses_; }

  /// Counts a failure: "in attempt 0 (lost: it closed the connection)". True: from now on the node is suspect.
  bool note(NodeRank rank, const NodeName& name, std::string reason);
  /// Null: it has not failed.
  const Suspect* find(const NodeName& name) const;
  /// "it has failed by itself in attempt 0 (...) and in attempt 1 (...)"; empty: the node is not suspect.
  std::string describe(const NodeName& name) const;
  /// True if it has failed as often as --node-failures says: another node is to have its seat.
  bool is_barred(const NodeName& name) const;
  bool has_barred() const { return has_barred_; }
  /// Null: no earlier job has listed it.
  const BadNode* find_listed(const NodeName& name) const;
  bool has_listed() const { return !listed_.empty(); }
  /// Another node has its seat, or it takes part again. It has failed.
  void set_left_out(const NodeName& name, bool is_left_out) { failed_.at(name.key).is_left_out = is_left_out; }
  /// At most `kMostSuspects`.
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
