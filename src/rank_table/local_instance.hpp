#pragma once

// Finds a node's own instance in a table, and its devices.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "rank_table/rank_table.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster::rank_table {

/// Names and numbers of a node by which a table may identify it.
struct OwnNames {
  std::vector<Sourced<std::string>> pods;
  std::optional<Sourced<int>> index;  ///< of this node
  int nodes = 1;                      ///< number of nodes; 0: unknown
  std::optional<int> slots = {};      ///< devices of each node, where known
  std::vector<Sourced<std::string>> addresses;
};

/// The names in the surroundings, without the index.
OwnNames own_names(const Snapshot& snapshot);

/// Finds this node's instance in the table: by its pod's name, the number at the end of that name, an address that
/// only one instance has, and in a table without pod names by its ranks. Fails with `BadData`, with the attempts and
/// the table's content; never defaults to the first instance.
[[nodiscard]] Result<std::size_t> find_instance(const TableFile& file, const OwnNames& own);

/// True where an instance has the name of its pod.
bool has_pod_names(const Table& table);

/// Devices of an instance. `ranks`, by instance and device, replace the table's unless empty.
std::vector<Device> devices_of(const Table& table, std::size_t instance, const std::vector<int>& ranks = {});

}  // namespace muster::rank_table
