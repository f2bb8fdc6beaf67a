#pragma once

// The rules that HCCL has for tables, by what they look at. Sources: HCCL's parsers of rank tables
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

/// `version`, and counts beside lists.
void check_counts(const Checked& table);
/// Names of pods and servers, and addresses of hosts.
void check_servers(const Checked& table);
/// Ids, and ranks from 0 without a gap.
void check_ranks(const Checked& table);
/// `device_ip` and ports.
void check_addresses(const Checked& table);
/// `super_pod_list` and `super_device_id`.
void check_super_pods(const Checked& table);
/// `level_list` of form 2.0.
void check_levels(const Checked& table);

/// What need not be mended by hand.
[[nodiscard]] std::vector<Breach> find_remarks(const json::object& root, const Layout& layout);

/// What newer versions of CANN would end with.
inline constexpr std::string_view kNewerCode = "EI0014";

/// The id of the server that an instance is on; "" if it has none.
[[nodiscard]] std::string_view server_of(const InstancePlace& instance);

/// How many there are.
[[nodiscard]] std::size_t count_servers(const Layout& layout);

}  // namespace muster::rank_table
