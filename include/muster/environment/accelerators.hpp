#pragma once

#include <muster/base/result.hpp>
#include <muster/environment/settings.hpp>
#include <muster/environment/snapshot.hpp>

namespace muster {

/// How many workers `--nproc-per-node` means on this node. `wanted` is a number of at least 1 or
/// one of:
///   auto  accelerators if there are any (NVIDIA, then Ascend, then AMD), else 1
///   gpu   NVIDIA or AMD; none is an error
///   npu   Ascend; none is an error
///   cpu   the cores that this process may use
/// A variable such as CUDA_VISIBLE_DEVICES that is set decides, also when it hides every device.
[[nodiscard]] Result<Sourced<int>> count_slots(const Sourced<std::string>& wanted,
                                               const Snapshot& snapshot);

}  // namespace muster
