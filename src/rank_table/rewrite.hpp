#pragma once

// Writes tables in forms that HCCL reads: version 1.0, or the newer form that the table had.

#include "rank_table/rank_table.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster::rank_table {

/// Changes against the text that a table was read from.
struct Changes {
  std::vector<int> ranks;                            ///< by instance and device as `Table` lists them; empty: unchanged
  std::map<std::string, std::string> pod_addresses;  ///< `pod_ip` by server_id, for MindSpore's scheduler
};

/// Converts a rank table with `group_list`, and one without a `version` field, to version 1.0: servers in the order of
/// `table`, instances of one `server_id` together. Tables of other versions keep their form. Counts and ids are text as
/// CANN wants them (numbers in 2.0), unknown fields stay, and equal input gives equal bytes. A large input text is freed before the new one grows.
std::string rewrite(std::string text, const Table& table, const Changes& changes = {});

/// Writes a table from devices alone, such as a generated one, as version 1.0, or 1.2 if it has super pods.
std::string write(const Table& table);

}  // namespace muster::rank_table
