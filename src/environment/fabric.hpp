#pragma once

// Reads the counters of the RDMA devices of this host: InfiniBand, RoCE, EFA.

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

/// Bytes that the RDMA ports of the host have sent and received since it was started, by whomever; empty: it has no
/// port that counts. `root`: the directory that stands for "/".
/// Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband; efa_hw_stats of drivers/infiniband/hw/efa.
std::optional<std::uint64_t> read_fabric_bytes(const std::string& root);

}  // namespace muster
