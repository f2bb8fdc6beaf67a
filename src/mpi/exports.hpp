#pragma once

// What of node 0's environment mpirun takes to the ranks of other nodes.

#include <map>
#include <string>
#include <vector>

namespace muster::mpi {

/// "-x", NAME for each variable that is the user's: not those that say something about one node alone, nor those
/// that mpirun takes along or sets itself. Values are in no word: mpirun has them in its environment, and those of
/// `with_shell_names`.
[[nodiscard]] std::vector<std::string> exports_of(
    const std::map<std::string, std::string>& variables);

/// Those with a name that a shell would drop ("T.dot", "BASH_FUNC_f%%"), under names that it passes on.
[[nodiscard]] std::map<std::string, std::string> with_shell_names(
    const std::map<std::string, std::string>& variables);

/// Takes such names away, and gives the variables behind them back.
void restore_names(std::map<std::string, std::string>& variables);

}  // namespace muster::mpi
