#pragma once

// What a node does with a table: finds the file, finds itself in it, and takes its devices from it.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "rank_table/rank_table.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster::rank_table {

/// What a table's file is called where only its folder is named.
inline constexpr std::array<const char*, 2> kFileNames = {"jobstart_hccl.json", "hccl.json"};

/// Where the surroundings say that the job's table is, a file or a folder: RANK_TABLE_FILE_V_1_0, then
/// RANK_TABLE_FILE, then where controllers put it. Empty: nobody says.
[[nodiscard]] std::optional<Sourced<std::string>> find_table_file(const Snapshot& snapshot);

/// A table as it was read.
struct TableFile {
  std::string path;
  std::string text;
  Table table;
  /// What the file `version` beside it counts, which a controller changes with the table; empty: there is
  /// none.
  std::optional<int> version = {};
};

/// What a node knows of itself by which a table could know it, too.
struct OwnNames {
  std::vector<Sourced<std::string>> pods;
  std::optional<Sourced<int>> index;  ///< which of the nodes it is
  int nodes = 1;                      ///< how many there are; 0: not known
  std::optional<int> slots = {};      ///< devices of each, where that was said
  std::vector<Sourced<std::string>> addresses;
};

/// Those of the surroundings, but for the index.
[[nodiscard]] OwnNames own_names(const Snapshot& snapshot);

/// Which instance of the table this node is: by its pod's name, by the number that a pod's name ends with, by
/// an address that just one instance has, and in a table without names of pods by its ranks. Fails with
/// `BadData`, saying what was tried and what the table has; the first one is never meant by default.
[[nodiscard]] Result<std::size_t> find_instance(const TableFile& file, const OwnNames& own);

/// This node's part of a table that all nodes have.
struct RankedNode {
  int world_size = 0;           ///< devices of all nodes
  std::vector<Device> devices;  ///< of this node, in their order, with their ranks
  std::string text;             ///< the table as the workers are to read it
};

/// Those of an instance. `ranks`, by instance and device, take the place of the table's unless that is empty.
[[nodiscard]] std::vector<Device> devices_of(const Table& table, std::size_t instance,
                                             const std::vector<int>& ranks = {});

}  // namespace muster::rank_table
