#pragma once

// Asks the RAS subsystem of the NCCL in the workers. Private to src/agent.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <istream>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// The way to NCCL in the workers of this node.
struct NcclQuestion {
  std::uint16_t port = 0;  ///< at 127.0.0.1, chosen by this agent; 0: there is none
  int world_size = 1;
  bool is_wished = false;     ///< true: a person asks; otherwise NCCL is not asked
  bool is_confirmed = false;  ///< true: NCCL is asked even if its version has known faults or is not known
};

struct NcclAnswer {
  std::string told;      ///< the answer to VERBOSE STATUS; empty: none
  std::string sentence;  ///< which version was asked, or why none was
};

/// The users of the sockets that listen at this port of 127.0.0.1, from the lines of /proc/net/tcp.
std::set<uid_t> users_listening_at(std::istream& table, std::uint16_t port);

/// Asks NCCL in one of these processes, if the version that is loaded there can be asked. The answer counts only if a
/// user of the processes listens at the port, and if it comes whole by the deadline and is not too large. Blocks: for
/// a helper process.
NcclAnswer ask_nccl(const NcclQuestion& question, const std::vector<pid_t>& processes,
                    std::chrono::steady_clock::time_point deadline);

}  // namespace muster
