#pragma once

// How many processes of mpirun's there are, and on which hosts.

#include "compat/front_end.hpp"

namespace muster {

/// "orte_default_hostfile" and what it is called in 5.
[[nodiscard]] bool is_hostfile_parameter(std::string_view name);

/// Settings for the counts and the lists of hosts; `others` are the processes of the other programs. Fails where
/// they contradict each other.
[[nodiscard]] Result<> translate_placing(Translation& t, int others);

}  // namespace muster
