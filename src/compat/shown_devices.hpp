#pragma once

// Devices of this node as other launchers name them: by their numbers on the host. Private to compat/.

#include "base/result.hpp"
#include "environment/snapshot.hpp"

namespace muster {

/// The names of so many devices that no list hides: numbers from 0.
[[nodiscard]] std::vector<std::string> device_numbers(int count);

/// The names of the devices that this node shows: those of a list such as CUDA_VISIBLE_DEVICES, else `device_numbers`.
[[nodiscard]] std::vector<std::string> shown_devices(const Snapshot& snapshot);

/// Devices by such names, as --devices counts them: by their places among those that are shown. Fails for one that a list does
/// not show; `text` is what named them.
[[nodiscard]] Result<Sourced<std::string>> places_of_devices(const std::vector<std::string>& names,
                                                             const Sourced<std::string>& text,
                                                             const Snapshot& snapshot);

}  // namespace muster
