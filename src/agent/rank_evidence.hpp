#pragma once

// Finds out where the workers of this node are (docs/hangs.md). Reads /proc and the memory of Python programs: for a
// helper process, because the kernel may make it wait.

#include "agent/nccl_client.hpp"
#include "control/status.hpp"
#include "hang/evidence.hpp"
#include "hang/process_memory.hpp"

namespace muster {

/// The evidence about each worker of this node, and on the node of rank 0 what NCCL tells of all ranks. A worker that is
/// a shell is described by the Python program below it.
[[nodiscard]] hang::Evidence gather_evidence(const control::NodeStatus& status, hang::Stacks stacks,
                                             const NcclQuestion& nccl);

/// Seconds since one of the workers last wrote a line or called heartbeat() or progress(), or was started.
[[nodiscard]] double quiet_seconds(const control::NodeStatus& status);

}  // namespace muster
