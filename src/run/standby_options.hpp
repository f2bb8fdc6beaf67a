#pragma once

// Options of standbys (docs/standby.md). The folder standby/ has their rules, and agent/standbys makes them.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace muster {

struct StandbyOptions {
  /// Modules that a standby imports; none: those that the program has imported. Empty: there are no standbys.
  std::optional<std::vector<std::string>> modules;
  std::chrono::milliseconds after{60'000};  ///< from the start of an attempt until its first standby is made
};

}  // namespace muster
