#pragma once

// The leader's part of the exchange: collects what nodes contribute, merges it, hands the result out.
// Pure, and part of the leader.

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

// An agent's part of the exchange: what it contributes, and what it gets. Pure, and part of the
// participant.

class ExchangeClient {
 public:
  explicit ExchangeClient(ExchangeKeys keys) : keys_(std::move(keys)) {}

  /// Why this cannot be contributed, for the user; empty: it can.
  [[nodiscard]] std::string objection(const std::string& key, std::size_t size) const;
  [[nodiscard]] bool is_before_start(const std::string& key) const;

  /// Before the start: told to each leader that this agent joins, and returned for the one that it has
  /// joined already. Takes the place of what was kept under the key; nothing is said twice.
  [[nodiscard]] std::vector<Contribute> keep(const std::string& key, const std::string& bytes);
  [[nodiscard]] std::vector<std::string> names() const;
  /// There is a new link. Returns what follows the join.
  [[nodiscard]] std::vector<Contribute> introduce();

  /// The next round of the key. `nodes` is sorted; empty: all of the attempt.
  [[nodiscard]] std::vector<Contribute> contribute(const std::string& key, std::string bytes,
                                                   std::vector<NodeRank> nodes);

  /// Returns what a round came to. What comes before a start is kept for it. An error reads behind
  /// the leader's name.
  [[nodiscard]] Result<std::optional<Value>> take(const Merged& merged);

  /// An attempt starts here: what was merged for it.
  [[nodiscard]] Exchanged start(int attempt);

 private:
  using Group = std::pair<std::string, std::vector<NodeRank>>;  ///< key, and who is listed

  [[nodiscard]] const ExchangeKey* find_key(const std::string& name) const;

  ExchangeKeys keys_;
  std::map<std::string, std::string> before_start_;
  Assembler assembler_;
  int attempt_ = 0;
  std::map<Group, int> rounds_;  ///< contributed in this attempt
  int merged_for_ = 0;           ///< the attempt that `merged_` belongs to
  Exchanged merged_;
};

/// A node of an attempt. Its rank is its place in the list.
struct ExchangeNode {
  LinkId link = kOwnLink;
  std::string address;  ///< see `NodePart`
};

// What follows from a contribution.

/// Each of these links is sent each of these pieces.
struct Delivery {
  std::vector<LinkId> links;
  std::vector<Merged> chunks;
};
/// A node breaks the rules: it is to be cut off. `why` reads behind its name.
struct Violation {
  LinkId link = kOwnLink;
  std::string why;
};
/// There will be no result: the job cannot go on.
struct MergeFailed {
  Error why;  ///< see `Merge`
};
using ExchangeOutcome = std::variant<Delivery, Violation, MergeFailed>;
using ExchangeOutcomes = std::vector<ExchangeOutcome>;

/// What is contributed before the start is kept as long as its link, or until it is contributed anew, and
/// merged for each attempt.
/// What is contributed while an attempt runs belongs to a *round* of its key, which is over when all
/// nodes of the attempt, or those that are listed, have contributed; then its parts are dropped.
class ExchangeServer {
 public:
  explicit ExchangeServer(ExchangeKeys keys, std::size_t most_held = kMostHeldBytes)
      : keys_(std::move(keys)), most_held_(most_held) {}

  /// An agent is here that has something to contribute under these keys before the start.
  void add(LinkId link, const std::vector<std::string>& promised);
  /// It is gone, and what it contributed with it. Rounds that waited for it alone are over.
  [[nodiscard]] ExchangeOutcomes forget(LinkId link);
  [[nodiscard]] ExchangeOutcomes take(LinkId link, const Contribute& contribute);

  /// "'ports'": what it has not contributed yet, or is contributing anew; empty: it can start.
  [[nodiscard]] std::string missing(LinkId link) const;

  /// Why these nodes cannot start yet; see `Pending`.
  [[nodiscard]] std::string pending(const std::vector<ExchangeNode>& nodes) const;

  /// An attempt starts. Returns what its nodes are sent before. An error is for the user: the attempt
  /// cannot start.
  [[nodiscard]] Result<std::vector<Merged>> begin(int attempt, std::vector<ExchangeNode> nodes);
  /// The attempt is over: its rounds are dropped.
  void end();

  /// Bytes that are here or announced, and not merged.
  [[nodiscard]] std::size_t held() const { return held_; }

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
  using Group = std::pair<std::string, std::vector<NodeRank>>;  ///< key, and who is listed

  [[nodiscard]] const ExchangeKey* find_key(const std::string& name) const;
  [[nodiscard]] std::optional<std::vector<NodePart>> parts_before_start(const ExchangeKey& key,
                                                                        const std::vector<ExchangeNode>& nodes) const;
  [[nodiscard]] std::string objection(const Contributor& from, const ValueId& id) const;
  [[nodiscard]] std::string objection_to_nodes(NodeRank from, const ValueId& id) const;
  [[nodiscard]] bool is_late(const Contributor& from, const ValueId& id) const;
  [[nodiscard]] ExchangeOutcomes store(LinkId link, Value value);
  [[nodiscard]] ExchangeOutcomes store_of_round(LinkId link, Value value);
  [[nodiscard]] ExchangeOutcomes finish(const Group& group, Round& round);
  [[nodiscard]] Result<std::string> merge(const ExchangeKey& key, const std::vector<NodePart>& parts) const;
  [[nodiscard]] std::vector<NodeRank> members(const Group& group) const;
  void drop_open(Contributor& from);

  ExchangeKeys keys_;
  std::size_t most_held_;
  std::size_t held_ = 0;
  std::map<LinkId, Contributor> contributors_;
  int attempt_ = 0;
  std::vector<ExchangeNode> nodes_;  ///< of the attempt, by rank
  std::set<NodeRank> present_;       ///< those that are not lost
  std::map<Group, Round> rounds_;
};

}  // namespace muster::gang
