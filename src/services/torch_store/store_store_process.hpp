#pragma once

// What the process of the store does: it accepts clients, reads what they send and writes what the store answers. Private
// to run/.

#include "services/torch_store/store_server.hpp"

namespace muster {

/// What it has of the agent's.
struct StoreChannel {
  int listener = -1;
  int agent = -1;  ///< a stream: it tells what store_lines.hpp says, and is asked by a byte
};

/// Serves until the agent is gone, or the process is killed.
void serve_store(const StoreChannel& ends, const StoreJob& job);

}  // namespace muster
