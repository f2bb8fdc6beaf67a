#pragma once

// Options of a suspension: the sources of its notices, and the reaction to one (docs/control.md).

#include <chrono>
#include <optional>
#include <string>

namespace muster {

/// Task of this node for HAI, which announces a suspension to the job's first node alone.
struct HaiTask {
  std::string manager;       ///< host name of the task's manager; empty: unknown
  bool is_training = false;  ///< only training tasks are suspended and restarted
};

/// The cloud whose metadata server is polled for notices.
enum class Cloud {
  Aws,
  Gcp,
  Azure
};

/// Suspension of the job after a notice (docs/control.md).
struct SuspendOptions {
  std::optional<int> signal;         ///< a notice and not a stop request; empty: none
  std::optional<int> worker_signal;  ///< sent to the workers in addition to the notice file
  /// End of the allocation, as the platform says; empty: unknown.
  std::optional<std::chrono::system_clock::time_point> allocation_end;
  std::optional<std::chrono::milliseconds> before_end;  ///< a notice is given this long before the allocation ends
  std::optional<HaiTask> hai;                           ///< empty: not on HAI, or another node polls it
  std::optional<Cloud> watched;                         ///< empty: no cloud is polled

  /// Time until the allocation ends, less a margin for the exit; empty: the end is unknown.
  std::optional<std::chrono::milliseconds> time_left() const;
};

}  // namespace muster
