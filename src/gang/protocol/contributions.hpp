#pragma once

// An agent's part of the exchange: what it contributes, and what it gets. Pure, and part of the
// participant.

#include "gang/protocol/messages.hpp"
#include "gang/protocol/pieces.hpp"

#include "gang/exchange_values.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::gang {

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
  [[nodiscard]] std::vector<Contribute> contribute(const std::string& key,
                                                   std::string bytes,
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

}  // namespace muster::gang
