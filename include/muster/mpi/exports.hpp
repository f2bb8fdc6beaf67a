#pragma once

// What of node 0's environment mpirun takes to the ranks of other nodes.

#include <map>
#include <string>
#include <vector>

namespace muster::mpi {

/// "-x", NAME for each variable that is the user's: not those that say something about one node alone, nor those
/// that mpirun takes along or sets itself. Values are in no word: mpirun has them in its environment.
[[nodiscard]] std::vector<std::string> exports_of(
    const std::map<std::string, std::string>& variables);

}  // namespace muster::mpi
