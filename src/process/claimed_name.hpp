#pragma once

// Claims a name that one process of a host has at a time.

#include "base/file_io.hpp"

#include <string>

namespace muster {

/// Takes an abstract socket name, of at most 107 bytes, which only one process of a network namespace can have;
/// `claim` holds it, and the kernel frees it when the owner ends. False: another process has it. Where the system
/// refuses sockets, the name counts as free.
bool claim_name(const std::string& name, UniqueFd& claim);

}  // namespace muster
