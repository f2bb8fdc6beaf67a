#pragma once

// Claims a name that one process of a host has at a time.

#include "base/file_io.hpp"

#include <string>

namespace muster {

/// Claims an abstract socket name, of at most 107 bytes, with `claim`. It belongs to the network namespace, as ports do,
/// and the kernel frees it with its owner. False: another process has it. Where the system refuses sockets, the name
/// counts as free.
bool claim_name(const std::string& name, UniqueFd& claim);

}  // namespace muster
