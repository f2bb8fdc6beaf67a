#pragma once

// Parses the names of signals.

#include <optional>
#include <string_view>

namespace muster {

/// The number of a signal: "SIGUSR1", "usr1", "SIGRTMIN+3".
[[nodiscard]] std::optional<int> parse_signal(std::string_view name);

}  // namespace muster
