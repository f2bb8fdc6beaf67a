#pragma once

// Keeps what a node's heartbeats tell of its memory: the kernel may end all its processes at once, and then nobody is
// left there to report that. Pure.

#include "gang/protocol/fence.hpp"
#include "gang/protocol/messages.hpp"

#include <optional>
#include <string>

namespace muster::gang {

class NodeMemory {
 public:
  void note(const MemoryUse& use, Instant now);

  /// Follows the words about a lost node: "; its memory group was at 63.8 GiB of 64.0 GiB 0.4 s before". Empty: neither
  /// was it near its limit, nor has the kernel killed one of its processes since the first heartbeat.
  std::string describe(Instant now) const;

 private:
  std::optional<int> first_oom_kills_;
  MemoryUse last_;
  Instant last_at_;
};

}  // namespace muster::gang
