#pragma once

// Reads the counters of the RDMA devices of this host: InfiniBand, RoCE, EFA.

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

/// Bytes that the host's RDMA ports have sent and received since its start, for all processes; empty: no port counts
/// them. `root`: the directory that stands for "/".
/// Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband; efa_hw_stats of drivers/infiniband/hw/efa.
std::optional<std::uint64_t> read_fabric_bytes(const std::string& root);

}  // namespace muster
