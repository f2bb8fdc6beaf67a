#pragma once

// How many processes of mpirun's there are, and on which hosts.

#include <muster/front_end/front_end.hpp>

namespace muster {

/// "orte_default_hostfile" and what it is called in 5.
[[nodiscard]] bool is_hostfile_parameter(std::string_view name);

/// The number in "ppr:2:node"; empty: it says something else.
[[nodiscard]] std::optional<int> read_per_node(std::string_view mapping);

/// Settings for the counts and the lists of hosts. Fails where they contradict each other.
[[nodiscard]] Result<> translate_placing(Translation& t);

}  // namespace muster
