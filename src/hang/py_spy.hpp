#pragma once

// Reads the answer of py-spy (docs/hangs.md), which knows the Pythons that do not describe themselves. Pure.

#include "base/result.hpp"
#include "hang/python_stack.hpp"

#include <cstdint>
#include <string_view>

namespace muster::hang {

/// The stack of the thread with this kernel id, else of the one named MainThread, from what `py-spy dump --json` has
/// printed, errors included. Fails with `BadData`, and py-spy's reason if it gave one. Reads at most `kMostFrames`.
[[nodiscard]] Result<Stack> read_py_spy(std::string_view answer, std::uint64_t thread);

}  // namespace muster::hang
