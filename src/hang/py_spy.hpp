#pragma once

// Reads the answer of py-spy (docs/hangs.md), which knows the Pythons that do not describe themselves. Pure.

#include "base/result.hpp"
#include "hang/python_stack.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace muster::hang {

/// Reads the threads, with at most `kMostFrames` frames each, from the output of `py-spy dump --json`, errors included. The
/// thread with the kernel id `main` comes first, or without such a thread the one named MainThread. Fails with `BadData`, and
/// py-spy's reason if it gave one.
[[nodiscard]] Result<std::vector<Thread>> read_py_spy(std::string_view answer, std::uint64_t main);

}  // namespace muster::hang
