#pragma once

// Options of reading libraries ahead (docs/first-step.md). agent/read_ahead does it.

#include <chrono>

namespace muster {

struct ReadAheadOptions {
  bool is_wanted = false;
  std::chrono::milliseconds after{60'000};  ///< from the workers' first line until their files are noted
};

}  // namespace muster
