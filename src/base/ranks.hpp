#pragma once

// Defines rank types, and the names of processes in messages: by rank, by label, and as groups of both.

#include "base/text.hpp"

#include <algorithm>
#include <compare>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Position of a worker in the job, 0 to world size-1. The ranks of a role on a node are contiguous, in order of node
/// rank.
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

/// "node 3 (gpu-3)".
inline std::string describe_node(NodeRank node, std::string_view host) {
  return "node " + to_string(node) + " (" + std::string(host) + ")";
}

/// "rank 3", or "rank 4 (ps 1)" for a process that has a label.
inline std::string describe_rank(GlobalRank rank, const std::string& label) {
  return "rank " + to_string(rank) + (label.empty() ? "" : " (" + label + ")");
}

/// "rank 3", "ranks 0-3, 7", "no rank". `ranks` must be sorted.
inline std::string describe_ranks(std::span<const int> ranks) {
  return ranks.empty() ? "no rank" : (ranks.size() == 1 ? "rank " : "ranks ") + describe_ranges(ranks);
}

/// `describe_rank` for a process; the label alone for one without a rank, such as mpirun.
template <typename Process>
std::string describe_process(const Process& process) {
  return process.is_unranked ? process.label : describe_rank(process.global_rank, process.label);
}

/// Collects processes, and names all of them together in a message.
class ProcessNames {
 public:
  template <typename Process>
  void add(const Process& process) {
    if (process.is_unranked) {
      labels_.push_back(process.label);
    } else {
      ranks_.insert(process.global_rank.value);
    }
  }
  template <typename Processes>
  static ProcessNames of(const Processes& processes) {
    ProcessNames names;
    for (const auto& process : processes) {
      names.add(process);
    }
    return names;
  }

  std::size_t size() const { return ranks_.size() + labels_.size(); }
  bool has_ranks() const { return !ranks_.empty(); }
  /// "ranks 0-3, 7", "mpirun", "no rank".
  std::string describe() const {
    std::vector<std::string> names = labels_;
    if (has_ranks() || labels_.empty()) {
      names.push_back(describe_ranks(std::vector<int>(ranks_.begin(), ranks_.end())));
    }
    return join(names, ", ");
  }
  /// "4 workers"; "mpirun" where no process has a rank.
  std::string count(const char* noun) const {
    return has_ranks() || labels_.empty() ? count_of(size(), noun) : describe();
  }

 private:
  std::set<int> ranks_;
  std::vector<std::string> labels_;
};

/// The noun for these processes in messages: "worker", or "process" if one has a label or another role, because a
/// scheduler or a parameter server is no worker.
template <typename Processes>
const char* noun_of(const Processes& processes) {
  const bool has_others = std::ranges::any_of(processes, [&](const auto& process) {
    return !process.label.empty() || process.role != processes.begin()->role;
  });
  return has_others ? "process" : "worker";
}

}  // namespace muster
