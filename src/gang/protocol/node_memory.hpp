#pragma once

// Keeps what a node's heartbeats tell about its memory: if the kernel kills all processes there at once, nobody is
// left to report it. Pure.

#include "gang/protocol/fence.hpp"
#include "gang/protocol/messages.hpp"

#include <optional>
#include <string>

namespace muster::gang {

class NodeMemory {
 public:
  void note(const MemoryUse& use, Instant now);

  /// Completes the sentence about a lost node: "; its memory group was at 63.8 GiB of 64.0 GiB 0.4 s before". Empty:
  /// the memory was not near its limit, and the kernel has killed no process there since the first heartbeat.
  std::string describe(Instant now) const;

 private:
  std::optional<int> first_oom_kills_;
  MemoryUse last_;
  Instant last_at_;
};

}  // namespace muster::gang
