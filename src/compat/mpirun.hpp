#pragma once

// Parts of mpirun's translation: its mapping, single options, counts and hosts, and lines of several programs.

#include "compat/compat_launcher.hpp"

#include <optional>
#include <string_view>

namespace muster {

struct Mapping {
  std::optional<int> per_node;     ///< the number in "ppr:2:node"
  bool counts_objects = false;     ///< "ppr:2:socket": the number depends on the machine
  bool may_oversubscribe = false;  ///< ":OVERSUBSCRIBE"
  bool is_own = false;             ///< muster places its own ranks in the same way
};

/// Reads "socket", "slot:PE=2", "ppr:2:node:OVERSUBSCRIBE", ":OVERSUBSCRIBE", in upper or lower case.
/// Source: Open MPI 4.1, orte/mca/rmaps/base/rmaps_base_frame.c; PRRTE 3, src/mca/rmaps/base.
Mapping read_mapping(std::string_view text);

/// Sets what the option means to muster, and returns the words for mpirun if mpirun is to get the option too.
std::vector<std::string> mpirun_words_of(Translation& t, const TypedOption& typed);

/// The given option, if any, that allows more processes than slots.
std::optional<Sourced<std::string>> find_oversubscription(const Translation& t);

/// The given option, if any, that has mpirun fill the slots in a way that muster does not have.
const TypedOption* find_own_placing(const Translation& t);

/// True for "orte_default_hostfile" and its name in Open MPI 5.
bool is_hostfile_parameter(std::string_view name);

/// Sets the counts and the lists of hosts; `others` is the number of processes of the other programs. Fails if they
/// contradict each other.
[[nodiscard]] Result<> translate_placing(Translation& t, int others);

/// Moves all programs but the first to the words for mpirun, since only mpirun can start several. Reads muster's part
/// of their options and passes the rest on. Returns the number of their processes; 0: there is one program. Fails for
/// a program without a number of processes, or with hosts of its own.
[[nodiscard]] Result<int> take_other_programs(Translation& t);

}  // namespace muster
