#pragma once

// Options of suspending a job: what announces it, such as a cloud, and what muster then does (docs/control.md).

#include <chrono>
#include <optional>
#include <string>

namespace muster {

/// This node's task in HAI. HAI announces a suspension only to the first node of a job.
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

/// Options of suspending the job after a notice, the message that it has to end soon (docs/control.md).
struct SuspendOptions {
  std::optional<int> signal;         ///< a signal that is a notice, not a request to stop; empty: none
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
