#pragma once

// Asks the RAS subsystem of the NCCL in the workers. Private to src/agent.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <istream>
#include <set>
#include <string>

namespace muster {

/// The way to NCCL in the workers of this node.
struct NcclQuestion {
  std::uint16_t port = 0;  ///< at 127.0.0.1, chosen by this agent; 0: it is not asked
  int world_size = 1;
};

/// The users of the sockets that listen at this port of 127.0.0.1, from the lines of /proc/net/tcp.
[[nodiscard]] std::set<uid_t> listeners_at(std::istream& table, std::uint16_t port);

/// The whole answer to VERBOSE STATUS. Empty: none of these users listens, or the answer is too large or not whole by the
/// deadline. Blocks: for a helper process.
[[nodiscard]] std::string ask_nccl(const NcclQuestion& question, const std::set<uid_t>& users,
                                   std::chrono::steady_clock::time_point deadline);

}  // namespace muster
