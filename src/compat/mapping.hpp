#pragma once

// What mpirun's --map-by says.

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

}  // namespace muster
