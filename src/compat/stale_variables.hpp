#pragma once

// Drops variables that an earlier start has left, and reads devices and numbers as other launchers do.

#include "base/result.hpp"
#include "compat/compat_launcher.hpp"
#include "environment/snapshot.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Drops RANK, WORLD_SIZE, MASTER_ADDR and TF_CONFIG, with a notice, if the other launcher would not read them.
/// muster does read them, since some platforms set nothing else: if the command line does not describe the nodes
/// (`is_about_nodes`), and the variables are complete and possible.
void drop_stale_variables(Translation& translation, bool is_about_nodes);

/// The number of nodes by the translation, else by muster's own options; empty: neither says it.
std::string nodes_of(const Translation& translation);

/// The variable's value, unless it is empty or `variable` is nullptr.
std::optional<Sourced<std::string>> find_given(const Snapshot& snapshot, const char* variable);

/// True for "1" and "1:1", which mean one node.
bool is_one(const std::string& nodes);

/// Gives the port to the workers of several nodes, as scripts name it in --dist-url tcp://ADDRESS:PORT. The agents
/// then meet at another port.
void give_port_to_workers(Translation& translation);

// Devices of this node by their numbers on the host, as other launchers name them.

/// Names of `count` devices that no list hides: numbers from 0.
std::vector<std::string> device_numbers(int count);

/// Names of the devices that this node shows: those in CUDA_VISIBLE_DEVICES or its like, else `device_numbers`.
std::vector<std::string> shown_devices(const Snapshot& snapshot);

/// Turns device names into the form of --devices: indexes among the shown devices. Fails for a device that the list
/// does not show; `text` is the value that named the devices.
[[nodiscard]] Result<Sourced<std::string>> places_of_devices(const std::vector<std::string>& names,
                                                             const Sourced<std::string>& text,
                                                             const Snapshot& snapshot);

/// Reads an integer as Python's int() does, such as " 02 ", "+2" and "1_000". Returns its digits without leading
/// zeros, with a sign if it is negative; empty for any other text.
std::optional<std::string> find_python_integer(std::string_view text);

}  // namespace muster
