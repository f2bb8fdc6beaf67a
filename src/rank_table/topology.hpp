#pragma once

// Reads a table's nodes' places in the network, and orders ranks so that neighbours in a ring are near each other.

#include "base/result.hpp"
#include "rank_table/rank_table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// Gives consecutive ranks to the devices of these instances, in this order, and within an instance in the order of
/// their ranks. The result is in the order of the table.
std::vector<int> ranks_in_order(const Table& table, const std::vector<std::size_t>& instances);

/// Reads one line for each node, "gpu-0 core/spine-1/leaf-3"; # starts a comment. `name` is the text's name in
/// errors.
[[nodiscard]] Result<SwitchPaths> read_switches(std::string_view text, const std::string& name);

/// Ranks of a table's devices, and their effect on a ring of all ranks.
struct RingOrder {
  std::vector<int> ranks;  ///< by instance and device as `Table` lists them
  int hops_before = 0;     ///< switches that data passes once around the ring, by the table's own ranks
  int hops_after = 0;      ///< never more than before
};

/// Gives consecutive ranks to the nodes of one switch, then to those of the next switch with the same parent. Servers
/// and super pods stay together; equally near nodes keep their order, and rank 0 stays. If no ring gets shorter, all
/// ranks stay. Fails with `BadData` for nodes that are not in `paths`.
[[nodiscard]] Result<RingOrder> order_ring(const Table& table, const SwitchPaths& paths, const std::string& name);

/// Orders the ring of a table file by a switch file. A node of form 2.0 is identified by the network of its lowest
/// layer, or by an address of one of its devices.
[[nodiscard]] Result<RingOrder> order_ring(const TableFile& file, const NetworkFile& network);

/// "8, before 12".
std::string describe(const RingOrder& order);

/// The table with new ranks, by instance and device.
Table with_ranks(Table table, const std::vector<int>& ranks);

}  // namespace muster::rank_table
