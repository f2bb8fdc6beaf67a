#pragma once

// HCCL's rules for rank tables, grouped by subject. Sources: HCCL's parsers of rank tables
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

void check_all(const Checked& table);

/// Checks `version`, and counts against lists.
void check_counts(const Checked& table);
/// Checks names of pods and servers, and addresses of hosts.
void check_servers(const Checked& table);
/// Checks ids, and that ranks run from 0 without a gap.
void check_ranks(const Checked& table);
/// Checks `device_ip` and ports.
void check_addresses(const Checked& table);
/// Checks `super_pod_list` and `super_device_id`.
void check_super_pods(const Checked& table);
/// Checks `level_list` of form 2.0.
void check_levels(const Checked& table);

/// Deviations that `rewrite` corrects, or that only some versions of HCCL refuse.
[[nodiscard]] std::vector<Breach> find_remarks(const json::object& root, const Layout& layout);

/// Error code of newer versions of CANN.
inline constexpr std::string_view kNewerCode = "EI0014";

/// The id of the server that an instance is on; "" if it has none.
[[nodiscard]] std::string_view server_of(const InstancePlace& instance);

/// The number of servers.
[[nodiscard]] std::size_t count_servers(const Layout& layout);

}  // namespace muster::rank_table
