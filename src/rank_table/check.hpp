#pragma once

// Checks a table by HCCL's rules. Sources: HCCL's parsers of rank tables
// (topoinfo_ranktableConcise, topoinfo_ranktableStandard) and CANN's "Rank table configuration".

#include "rank_table/layout.hpp"
#include "rank_table/read.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

struct Checked {
  const json::object& root;
  const Layout& layout;
  const Rules& rules;
  Breaches& breaches;
};

/// Adds all breaches of the rules, in the order of the rules.
void check_all(const Checked& table);

/// Deviations that `rewrite` corrects, or that only some versions of HCCL refuse.
std::vector<Breach> find_notices(const json::object& root, const Layout& layout);

/// The number of servers.
std::size_t count_servers(const Layout& layout);

}  // namespace muster::rank_table
