#pragma once

// Reads names of signals, and says what a repeated signal means.

#include <optional>
#include <string_view>

namespace muster {

/// The number of a signal by its name: "SIGUSR1", "usr1", "SIGRTMIN+3"; empty: no such signal.
std::optional<int> parse_signal(std::string_view name);

/// True for INT and QUIT, which a person sends at a terminal. A repeated one means "now"; schedulers repeat the others.
bool is_from_keyboard(int signal);

}  // namespace muster
