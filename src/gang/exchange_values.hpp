#pragma once

// Values that the nodes of a job bring together: what a key is. docs/gang.md tells how it goes.

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

/// What one node contributed.
struct NodePart {
  NodeRank node;
  std::string_view address;  ///< where the others reach it; empty: where the workers meet
  std::string_view bytes;    ///< empty also where it has contributed nothing
};

/// Where a node of an attempt is.
struct NodePlace {
  std::string address;  ///< numeric; of one on the leader's machine that at which the others reach it
  int slots = 0;
};

/// Makes one value of the parts, which are in the order of node ranks. Runs on the leader and is
/// pure. An error ends the job. `BadData`: what the nodes were given does not fit together, in a whole
/// sentence, and the job ends with 65. All others read behind the key's name: "are torn on node 3".
using Merge = std::function<Result<std::string>(const std::vector<NodePart>&)>;

/// Why the parts do not fit together yet, though all are here: some node will contribute anew. A sentence
/// without a full stop; empty: they are to be merged. Until then nothing starts.
using Pending = std::function<std::string(const std::vector<NodePart>&)>;

/// Everybody gets the parts of all. To be read by `read_parts`.
[[nodiscard]] Result<std::string> all_parts(const std::vector<NodePart>& parts);
/// The parts in the order of node ranks. Fails with `BadData`.
[[nodiscard]] Result<std::vector<std::string>> read_parts(std::string_view merged);

enum class Phase {
  BeforeStart,  ///< kept until it is contributed anew; merged for each attempt by those who take part
  WhileRunning  ///< contributed again and again while an attempt runs
};

/// A name under which nodes contribute, and what becomes of it. All nodes of a job know the same.
struct ExchangeKey {
  std::string name;
  Phase phase = Phase::BeforeStart;
  std::size_t most_of_node = 0;  ///< bytes that one node may contribute
  std::size_t most_merged = 0;   ///< bytes that come out
  Merge merge = all_parts;
  Pending pending = nullptr;  ///< empty: they always are
};
using ExchangeKeys = std::vector<ExchangeKey>;

/// Which value it is.
struct ValueId {
  std::string key;
  int attempt = 0;              ///< 0 where it is contributed before the start
  std::optional<int> round;     ///< counts the values of a key in an attempt; empty: before the start
  std::vector<NodeRank> nodes;  ///< who brings it together, sorted; empty: all of the attempt

  bool operator==(const ValueId&) const = default;
};

struct Value {
  ValueId id;
  std::string bytes;
};

/// What was merged for a start, by key.
using Exchanged = std::map<std::string, std::string>;

/// The most bytes that the leader holds for a job until they are merged.
inline constexpr std::size_t kMostHeldBytes = std::size_t{64} << 20U;

}  // namespace muster::gang
