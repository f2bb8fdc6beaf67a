#pragma once

// Variables that another start has left behind.

#include "base/result.hpp"
#include "compat/compat_launcher.hpp"
#include "environment/snapshot.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Other launchers read no RANK, WORLD_SIZE, MASTER_ADDR or TF_CONFIG. muster does, since some platforms set nothing else: where the
/// command line says nothing about nodes (`is_about_nodes`), and what they say is whole and possible. Else they are left out, and a
/// notice says so.
void drop_stale_variables(Translation& translation, bool is_about_nodes);

// Devices of this node as other launchers name them: by their numbers on the host.

/// The names of so many devices that no list hides: numbers from 0.
[[nodiscard]] std::vector<std::string> device_numbers(int count);

/// The names of the devices that this node shows: those of a list such as CUDA_VISIBLE_DEVICES, else `device_numbers`.
[[nodiscard]] std::vector<std::string> shown_devices(const Snapshot& snapshot);

/// Devices by such names, as --devices counts them: by their places among those that are shown. Fails for one that a list does
/// not show; `text` is what named them.
[[nodiscard]] Result<Sourced<std::string>> places_of_devices(const std::vector<std::string>& names,
                                                             const Sourced<std::string>& text,
                                                             const Snapshot& snapshot);

// Numbers as other launchers read them.

/// Of an integer as Python's int() reads it, such as " 02 ", "+2" and "1_000", the digits, with a sign in front if it is below 0
/// and no zeros. Of any other text nothing.
[[nodiscard]] std::optional<std::string> find_python_integer(std::string_view text);

}  // namespace muster
