#pragma once

// What mpirun's --map-by says.

#include "compat/compat_launcher.hpp"

#include <optional>
#include <string_view>

namespace muster {

struct Mapping {
  std::optional<int> per_node;     ///< the number in "ppr:2:node"
  bool counts_objects = false;     ///< "ppr:2:socket": how many that makes, the machine says
  bool may_oversubscribe = false;  ///< ":OVERSUBSCRIBE"
  bool is_own = false;             ///< muster places its own ranks so as well
};

/// Reads "socket", "slot:PE=2", "ppr:2:node:OVERSUBSCRIBE", ":OVERSUBSCRIBE". Capital and small letters are the
/// same.
/// Source: Open MPI 4.1, orte/mca/rmaps/base/rmaps_base_frame.c; PRRTE 3, src/mca/rmaps/base.
[[nodiscard]] Mapping read_mapping(std::string_view text);

// What single options of mpirun's mean.

/// Settings for what it says, and the words for mpirun, where that is to get it as well.
[[nodiscard]] std::vector<std::string> mpirun_words_of(Translation& t, const TypedOption& typed);

/// The one that is given, if any, that lets more processes be started than there are slots.
[[nodiscard]] std::optional<Sourced<std::string>> find_oversubscription(const Translation& t);

/// The one that is given, if any, that tells mpirun which slots to fill, in a way that is not muster's.
[[nodiscard]] const TypedOption* find_own_placing(const Translation& t);

// How many processes of mpirun's there are, and on which hosts.

/// "orte_default_hostfile" and what it is called in 5.
[[nodiscard]] bool is_hostfile_parameter(std::string_view name);

/// Settings for the counts and the lists of hosts; `others` are the processes of the other programs. Fails where
/// they contradict each other.
[[nodiscard]] Result<> translate_placing(Translation& t, int others);

// Several programs in one line of mpirun's, with ":" between them.

/// Takes all programs but the first from the line, for mpirun, which alone can start several: what is muster's
/// among their options is read, and the rest goes along as it is. The processes that they have together; 0: there is
/// one program. Fails where one of them has no number of processes, or places of its own.
[[nodiscard]] Result<int> take_other_programs(Translation& t);

}  // namespace muster
