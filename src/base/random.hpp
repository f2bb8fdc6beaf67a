#pragma once

// Draws random numbers from the kernel. A filter of system calls may refuse them: then no job starts.

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

/// Returns a random number. Fails with `System` and the name of the system call.
[[nodiscard]] Result<std::uint64_t> random_number();

/// Returns `count` random bytes as hexadecimal digits: a job's secret, a nonce, or a name that nobody else has.
[[nodiscard]] Result<std::string> random_digits(std::size_t count = 16);

/// Draws `count` of these characters with nearly equal chances: 12 at most if there are 36 different ones.
[[nodiscard]] Result<std::string> random_word(std::string_view characters, std::size_t count);

/// A random UUID (version 4 of RFC 9562).
[[nodiscard]] Result<std::string> random_uuid();

}  // namespace muster
