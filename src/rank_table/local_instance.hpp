#pragma once

// Finds a node's table file, the node's own instance in the table, and its devices.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "rank_table/rank_table.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster::rank_table {

/// Names of a table file where only its directory is given.
inline constexpr std::array<const char*, 2> kFileNames = {"jobstart_hccl.json", "hccl.json"};

/// Finds the path of the job's table, a file or a directory: RANK_TABLE_FILE_V_1_0, then RANK_TABLE_FILE, then the
/// controllers' places. Empty: none.
[[nodiscard]] std::optional<Sourced<std::string>> find_table_file(const Snapshot& snapshot);

/// A table file that was read.
struct TableFile {
  std::string path;
  std::string text;
  Table table;
  /// The counter in the file `version` beside it, which a controller changes with the table; empty: there is no such
  /// file.
  std::optional<int> version = {};
};

/// Names and numbers of a node by which a table may identify it.
struct OwnNames {
  std::vector<Sourced<std::string>> pods;
  std::optional<Sourced<int>> index;  ///< of this node
  int nodes = 1;                      ///< number of nodes; 0: unknown
  std::optional<int> slots = {};      ///< devices of each node, where known
  std::vector<Sourced<std::string>> addresses;
};

/// The names in the surroundings, without the index.
[[nodiscard]] OwnNames own_names(const Snapshot& snapshot);

/// Finds this node's instance in the table: by its pod's name, the number at the end of that name, an address that
/// only one instance has, and in a table without pod names by its ranks. Fails with `BadData`, with the attempts and
/// the table's content; never defaults to the first instance.
[[nodiscard]] Result<std::size_t> find_instance(const TableFile& file, const OwnNames& own);

/// This node's part of a shared table.
struct RankedNode {
  int world_size = 0;           ///< devices of all nodes
  std::vector<Device> devices;  ///< of this node, in their order, with ranks
  std::string text;             ///< the table for the workers
};

/// Devices of an instance. `ranks`, by instance and device, replace the table's unless empty.
[[nodiscard]] std::vector<Device> devices_of(const Table& table, std::size_t instance,
                                             const std::vector<int>& ranks = {});

}  // namespace muster::rank_table
