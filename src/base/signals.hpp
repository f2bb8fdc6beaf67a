#pragma once

// Names of signals, and what a repeated one means.

#include <optional>
#include <string_view>

namespace muster {

/// The number of a signal: "SIGUSR1", "usr1", "SIGRTMIN+3".
std::optional<int> parse_signal(std::string_view name);

/// True for INT and QUIT, which a person sends at a terminal. A repeated one means "now"; schedulers repeat the others.
bool is_from_keyboard(int signal);

}  // namespace muster
