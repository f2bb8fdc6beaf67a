#pragma once

// Tells whether there is memory for something that a job can do without. Private to src/agent.

#include "environment/cgroups.hpp"

#include <cstdint>

namespace muster {

/// True if `size` more bytes fit into the machine's memory and the control group's, and a tenth stays free.
bool have_room(const MemoryGroup& group, std::uint64_t size);

}  // namespace muster
