#pragma once

// How processes are called in sentences: by rank, by label, and what several of them are.

#include <muster/base/ranks.hpp>
#include <muster/base/text.hpp>

#include <algorithm>
#include <span>
#include <string>

namespace muster {

/// "rank 3", or "rank 4 (ps 1)" for a process that has a label.
[[nodiscard]] inline std::string describe_rank(GlobalRank rank, const std::string& label) {
  return "rank " + to_string(rank) + (label.empty() ? "" : " (" + label + ")");
}

/// "rank 3", "ranks 0-3, 7", "no rank". The ranks are sorted.
[[nodiscard]] inline std::string describe_ranks(std::span<const int> ranks) {
  return ranks.empty() ? "no rank"
                       : (ranks.size() == 1 ? "rank " : "ranks ") + describe_ranges(ranks);
}

/// What these processes are called together: "worker", but "process" where one has a label or a role
/// of its own: a scheduler and a parameter server are no workers.
template <typename Processes>
[[nodiscard]] const char* noun_of(const Processes& processes) {
  const bool has_others = std::any_of(processes.begin(), processes.end(), [&](const auto& process) {
    return !process.label.empty() || process.role != processes.begin()->role;
  });
  return has_others ? "process" : "worker";
}

}  // namespace muster
