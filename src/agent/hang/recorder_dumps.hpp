#pragma once

// Asks the flight recorders of PyTorch's ranks for their dumps (docs/hangs.md#collectives). A rank makes a pipe in its
// folder, and writes a dump beside it when a byte comes.

#include "control/status.hpp"
#include "hang/collectives.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace muster {

/// The folders of ranks, by their global rank (agent/rank_folders.hpp).
using RecorderFolders = std::map<int, std::string>;

/// Environment variables that make the recorder of a rank listen. None without a folder.
std::map<std::string, std::string> recorder_variables(const std::string& folder);

/// Paths of dumps that a rank may have written by itself, as PyTorch does when a collective times out.
std::vector<std::string> own_dump_paths(const std::string& folder, int rank);
/// Path of the last dump that muster has asked for and read.
std::string asked_dump_path(const std::string& folder, int rank);

/// The ranks of this node whose recorder listens. For a helper process, as the functions below.
std::vector<int> find_recorders(const control::NodeStatus& status, const RecorderFolders& folders);

/// Asks for a dump, and moves an earlier one away. A recorder looks once a second, and writes lines to standard error.
/// Returns the ranks that are asked.
std::vector<int> ask_recorders(std::vector<int> ranks, const RecorderFolders& folders);

/// Waits for the dumps of these ranks, and returns the progress of those that have come by the deadline.
std::vector<hang::RankProgress> read_dumps(const std::vector<int>& asked, const RecorderFolders& folders,
                                           std::chrono::steady_clock::time_point deadline);

}  // namespace muster
