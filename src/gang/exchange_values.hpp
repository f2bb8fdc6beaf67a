#pragma once

// Defines the keys and values of the exchange, in which the nodes of a job share data. docs/gang.md describes the
// protocol.

#include "base/ranks.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::gang {

/// Contribution of one node.
struct NodePart {
  NodeRank node;
  std::string_view address;  ///< where other nodes reach this one; empty: where the workers meet
  std::string_view bytes;    ///< empty, too, if the node contributed nothing
};

/// Address and slots of a node of an attempt.
struct NodePlace {
  std::string address;  ///< numeric; on the leader's machine, the address at which other nodes reach it
  int slots = 0;
};

/// Merges the parts, which are in the order of node ranks, into one value. Pure; runs on the leader. An error ends
/// the job. `BadData`: the nodes' inputs contradict each other; a whole sentence, and exit code 65. Messages of other
/// kinds follow the key's name: "are torn on node 3".
using Merge = std::function<Result<std::string>(const std::vector<NodePart>&)>;

/// Finds out whether the complete parts do not fit together yet, because a node will contribute again. Returns the
/// reason, as a sentence without a full stop; empty: they can be merged. No attempt starts before that.
using Pending = std::function<std::string(const std::vector<NodePart>&)>;

enum class Phase {
  BeforeStart,  ///< kept until contributed again; merged for each attempt from the parts of its nodes
  WhileRunning  ///< contributed again and again while an attempt runs
};

/// A name under which nodes contribute, and the rule that merges their parts. All nodes of a job have the same keys.
struct ExchangeKey {
  std::string name;
  Phase phase = Phase::BeforeStart;
  std::size_t most_of_node = 0;  ///< limit in bytes of one node's part
  std::size_t most_merged = 0;   ///< limit in bytes of the merged value
  Merge merge = nullptr;
  Pending pending = nullptr;  ///< empty: parts always fit together
};
using ExchangeKeys = std::vector<ExchangeKey>;

/// Identifies a value.
struct ValueId {
  std::string key;
  int attempt = 0;              ///< 0 for a value that is contributed before the start
  std::optional<int> round;     ///< number of the value of its key in the attempt; empty: before the start
  std::vector<NodeRank> nodes;  ///< contributing nodes, sorted; empty: all nodes of the attempt

  bool operator==(const ValueId&) const = default;
};

struct Value {
  ValueId id;
  std::string bytes;
};

/// Values that were merged for a start, by key.
using Exchanged = std::map<std::string, std::string>;

/// Limit in bytes of what the leader stores for a job until it is merged.
inline constexpr std::size_t kMostHeldBytes = std::size_t{64} << 20U;

}  // namespace muster::gang
