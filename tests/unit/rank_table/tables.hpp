#pragma once

// A table for tests of ranks and of the network, and what tests of the rules ask for.

#include "rank_table/rank_table.hpp"
#include "rank_table/read.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// Pods "n0", "n1", ... on 10.0.0.0, 10.0.0.1, ... with so many devices each, numbered in this order.
inline Table numbered_table(std::size_t nodes, int devices) {
  Table table;
  for (std::size_t i = 0; i < nodes; ++i) {
    Instance instance{"n" + std::to_string(i), "10.0.0." + std::to_string(i), {}, {}};
    for (int device = 0; device < devices; ++device) {
      instance.devices.push_back({table.size++, device, "", ""});
    }
    table.instances.push_back(instance);
  }
  return table;
}

/// Breaches of HCCL's rules in a text.
inline std::vector<Breach> check(std::string_view text, const Rules& rules = {}) {
  return inspect(text, "", rules).breaches;
}

}  // namespace muster::rank_table
