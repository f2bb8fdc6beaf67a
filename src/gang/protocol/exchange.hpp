#pragma once

// Implements the exchange: agents contribute values, the leader collects, merges and distributes them. Pure.

#include "gang/exchange_values.hpp"
#include "gang/protocol/messages.hpp"
#include "gang/protocol/roster.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace muster::gang {

// An agent's side of the exchange, part of the participant.

class ExchangeClient {
 public:
  explicit ExchangeClient(ExchangeKeys keys) : keys_(std::move(keys)) {}

  /// Returns why the value cannot be contributed, for the user; empty: it can.
  std::string objection(const std::string& key, std::size_t size) const;
  bool is_before_start(const std::string& key) const;

  /// Keeps a value for the start, in place of the key's earlier one, for each leader that this agent may join.
  /// Returns the messages for the present leader; an unchanged value is not sent again.
  std::vector<Contribute> keep(const std::string& key, const std::string& bytes);
  std::vector<std::string> names() const;
  /// A new link is up. Returns the messages that follow the join.
  std::vector<Contribute> introduce();

  /// Contributes to the next round of the key. `nodes` is sorted; empty: all of the attempt.
  std::vector<Contribute> contribute(const std::string& key, std::string bytes, std::vector<NodeRank> nodes);

  /// Takes a chunk of a merged value, and returns the value when its round is complete. A value for a start is kept
  /// until then. Errors complete a sentence about the leader.
  [[nodiscard]] Result<std::optional<Value>> take(const Merged& merged);

  /// An attempt starts here. Returns the values that were merged for it.
  Exchanged start(int attempt);

 private:
  using Group = std::pair<std::string, std::vector<NodeRank>>;  ///< key and listed nodes

  ExchangeKeys keys_;
  std::map<std::string, std::string> before_start_;
  Assembler assembler_;
  int attempt_ = 0;
  std::map<Group, int> rounds_;  ///< rounds contributed to in this attempt
  int merged_for_ = 0;           ///< attempt that `merged_` belongs to
  Exchanged merged_;
};

/// A node of an attempt. Its rank is its index in the list.
struct ExchangeNode {
  LinkId link = kOwnLink;
  std::string address;  ///< see `NodePart`
};

// Outcomes of a contribution.

/// Each of these links is sent each of these chunks.
struct Delivery {
  std::vector<LinkId> links;
  std::vector<Merged> chunks;
};
/// The node broke the protocol: its link is to be closed. `why` completes a sentence about the node.
struct Violation {
  LinkId link = kOwnLink;
  std::string why;
};
/// An error means that the merge failed, see `Merge`: the job cannot continue.
using ExchangeOutcome = std::variant<Delivery, Violation, Error>;
using ExchangeOutcomes = std::vector<ExchangeOutcome>;

/// The leader's side of the exchange. It keeps a value for the start until the link closes or the value is
/// contributed again, and merges it for each attempt. A value of a running attempt belongs to a *round* of its key. A
/// round is over when all nodes of the attempt, or the listed ones, have contributed; then its parts are dropped.
class ExchangeServer {
 public:
  explicit ExchangeServer(ExchangeKeys keys, std::size_t most_held = kMostHeldBytes)
      : keys_(std::move(keys)), most_held_(most_held) {}

  /// An agent has joined that will contribute under these keys before the start.
  void add(LinkId link, const std::vector<std::string>& promised);
  /// The agent is gone: drops its contributions. Ends the rounds that waited only for this agent.
  ExchangeOutcomes forget(LinkId link);
  ExchangeOutcomes take(LinkId link, const Contribute& contribute);

  /// Names the keys whose values the agent still has to contribute, "'ports'". Empty: the agent can start.
  std::string missing(LinkId link) const;

  /// Returns why these nodes cannot start yet; see `Pending`.
  std::string pending(const std::vector<ExchangeNode>& nodes) const;

  /// An attempt starts. Returns the messages for its nodes that precede the start. An error is for the user: the
  /// attempt cannot start.
  [[nodiscard]] Result<std::vector<Merged>> begin(int attempt, std::vector<ExchangeNode> nodes);
  /// The attempt is over: its rounds are dropped.
  void end();

  /// Bytes that are stored or announced, and not merged yet.
  std::size_t held() const { return held_; }

 private:
  struct Contributor {
    std::set<std::string> promised;
    std::map<std::string, std::string> before_start;  ///< by key
    Assembler assembler;
    std::optional<NodeRank> rank;  ///< in the attempt
  };
  struct Round {
    int number = 0;
    std::size_t expected = 0;
    std::map<NodeRank, std::string> parts;
  };
  using Group = std::pair<std::string, std::vector<NodeRank>>;  ///< key and listed nodes

  std::optional<std::vector<NodePart>> parts_before_start(const ExchangeKey& key,
                                                          const std::vector<ExchangeNode>& nodes) const;
  std::string objection(const Contributor& from, const ValueId& id) const;
  std::string objection_to_nodes(NodeRank from, const ValueId& id) const;
  bool is_late(const Contributor& from, const ValueId& id) const;
  ExchangeOutcomes store(LinkId link, Value value);
  ExchangeOutcomes store_of_round(LinkId link, Value value);
  ExchangeOutcomes finish(const Group& group, Round& round);
  [[nodiscard]] Result<std::string> merge(const ExchangeKey& key, const std::vector<NodePart>& parts) const;
  std::vector<NodeRank> members(const Group& group) const;
  void drop_open(Contributor& from);

  ExchangeKeys keys_;
  std::size_t most_held_;
  std::size_t held_ = 0;
  std::map<LinkId, Contributor> contributors_;
  int attempt_ = 0;
  std::vector<ExchangeNode> nodes_;  ///< of the attempt, by rank
  std::set<NodeRank> present_;       ///< nodes that are not lost
  std::map<Group, Round> rounds_;
};

}  // namespace muster::gang
