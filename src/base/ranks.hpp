#pragma once

#include <compare>
#include <string>

namespace muster {

/// Position of a node in the job, 0 to nodes-1. Every agent has exactly one.
struct NodeRank {
  int value = 0;
  auto operator<=>(const NodeRank&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Position of a worker on its node, 0 to slots-1.
struct LocalRank {
  int value = 0;
  auto operator<=>(const LocalRank&) const = default;
};

/// Position of a worker in the job, 0 to world size-1. Within a role contiguous on a node, in order
/// of node rank.
struct GlobalRank {
  int value = 0;
  auto operator<=>(const GlobalRank&) const = default;
};

inline std::string to_string(NodeRank rank) {
  return std::to_string(rank.value);
}
inline std::string to_string(LocalRank rank) {
  return std::to_string(rank.value);
}
inline std::string to_string(GlobalRank rank) {
  return std::to_string(rank.value);
}

}  // namespace muster
