#pragma once

// The nodes and devices of a line of DeepSpeed's launcher.

#include "compat/front_end.hpp"

namespace muster::deepspeed {

/// --hostfile, --include, --exclude, --num_nodes and what stands beside them, as settings. Fails for a choice of hosts that are not
/// listed, and where two of them contradict each other.
[[nodiscard]] Result<> translate_hosts(Translation& t);

}  // namespace muster::deepspeed
