#pragma once

// Tables as HCCL reads them: version 1.0, or the newer form that the table had.

#include "rank_table/rank_table.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster::rank_table {

/// What is different from the text that a table was read from.
struct Changes {
  std::vector<int> ranks;  ///< by instance and device as `Table` lists them; empty: as they are
  std::map<std::string, std::string> pod_addresses;  ///< `pod_ip` by server_id, for MindSpore's scheduler
};

/// Groups and the form without a version become 1.0: servers in the order of `table`, instances of one
/// `server_id` together. Others keep their form. Counts and ids are text as CANN wants them (numbers in
/// 2.0), fields that muster does not know stay as they are, and the same input gives the same bytes. The text
/// of a large table is gone before the new one grows.
[[nodiscard]] std::string rewrite(std::string text, const Table& table, const Changes& changes = {});

/// A table of version 1.0 from devices alone, such as a generated one; of 1.2 if it has super pods.
[[nodiscard]] std::string write(const Table& table);

}  // namespace muster::rank_table
