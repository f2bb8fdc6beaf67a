#pragma once

// Where the nodes of a table are in the network, and ranks that keep neighbours in a ring near each other.

#include "base/result.hpp"
#include "rank_table/local_instance.hpp"
#include "rank_table/rank_table.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// The switches above a node, from the top to the lowest, by its name: the pod's, or the server's id.
/// A switch is the same as another one if all above it are.
using SwitchPaths = std::map<std::string, std::vector<std::string>, std::less<>>;

/// One line for each node, "gpu-0 core/spine-1/leaf-3"; what follows a # is for people. Errors call it
/// `name`.
[[nodiscard]] Result<SwitchPaths> read_switches(std::string_view text, const std::string& name);

/// Such a file as it was read.
struct NetworkFile {
  std::string path;
  SwitchPaths switches;
};

/// Ranks of a table's devices, and what they do to a ring of all ranks.
struct RingOrder {
  std::vector<int> ranks;  ///< by instance and device as `Table` lists them
  int hops_before = 0;     ///< switches that data passes once around the ring, by the table's own ranks
  int hops_after = 0;      ///< never more than before
};

/// Nodes of one switch get ranks in a row, then those of the next switch with the same parent; servers and
/// super pods stay together; what is equally near stays in its order, and so does rank 0. Where that
/// makes no ring shorter, the ranks stay as they are. Fails with `BadData` for nodes that `paths` lacks.
[[nodiscard]] Result<RingOrder> order_ring(const Table& table, const SwitchPaths& paths, const std::string& name);

/// The same for a table and a file of switches as they were read. A node of form 2.0 is called by the network of its
/// lowest layer, or by an address of one of its devices.
[[nodiscard]] Result<RingOrder> order_ring(const TableFile& file, const NetworkFile& network);

/// "8, before 12".
[[nodiscard]] std::string describe(const RingOrder& order);

/// The table with other ranks, by instance and device.
[[nodiscard]] Table with_ranks(Table table, const std::vector<int>& ranks);

}  // namespace muster::rank_table
