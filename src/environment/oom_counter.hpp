#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

/// The file in which the kernel counts the processes of our memory group, and of those below it, that it has
/// killed for want of memory: memory.events, or memory.oom_control in version 1. Empty: there is none here.
[[nodiscard]] std::string find_oom_counter();

/// Empty when it cannot be read.
[[nodiscard]] std::optional<std::uint64_t> read_oom_counter(const std::string& file);

}  // namespace muster
