#pragma once

// By which way the ranks of an MPI job start: the first that works on all nodes.

#include "gang/exchange_values.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A way, and why it does not work on a node.
struct MethodReport {
  std::string way;      ///< as `--mpi-start` calls it
  std::string why_not;  ///< empty: it does work

  bool operator==(const MethodReport&) const = default;
};

/// What all nodes have agreed on.
struct AgreedMethod {
  std::size_t index = 0;             ///< in the list of ways, which is the same on all nodes
  std::vector<std::string> why_not;  ///< the ways before it: "pmix does not work on node 2: ..."
};

/// The key "mpi_ways". What a node contributes are its reports, in the order in which ways are preferred. Merging
/// them fails where no way works on all nodes.
[[nodiscard]] gang::ExchangeKey ways_key();
[[nodiscard]] std::string write_ways(const std::vector<MethodReport>& reports);
/// Fails with `BadData`.
[[nodiscard]] Result<AgreedMethod> read_agreed_way(std::string_view merged);

}  // namespace muster
