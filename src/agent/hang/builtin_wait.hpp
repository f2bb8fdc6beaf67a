#pragma once

// A wait in C++ has no frame of Python: the line of the program says which object it waits for. Private to src/agent.

#include "hang/evidence.hpp"

namespace muster {

/// Adds a frame for the C++ call in which the user's code waits for ranks, if it is in one (hang/occupation.hpp).
/// Takes up to 0.2 s if the file system of the program hangs. For a helper process.
void add_builtin_wait(hang::RankEvidence& rank);

}  // namespace muster
