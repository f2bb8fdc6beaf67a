#pragma once

// Reads the answer of py-spy (docs/hangs.md), which knows the Pythons that do not describe themselves. Pure.

#include "base/result.hpp"
#include "hang/python_stack.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace muster::hang {

/// The threads, of each at most `kMostFrames`, from what `py-spy dump --json` has printed, errors included. First comes the
/// one with this kernel id, else the one named MainThread. Fails with `BadData`, and py-spy's reason if it gave one.
[[nodiscard]] Result<std::vector<Thread>> read_py_spy(std::string_view answer, std::uint64_t main);

}  // namespace muster::hang
