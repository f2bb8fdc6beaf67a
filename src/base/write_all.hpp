#pragma once

#include "base/result.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace muster {

/// What became of the bytes that were to be written.
struct WriteResult {
  std::size_t missing = 0;  ///< 0: all of them were taken
  int error_number = 0;     ///< why the rest was not
};

/// Writes all of it to a descriptor. One that takes nothing for now (a pipe without a reader) is waited
/// for as long as `patience`, each time anew; a file never is.
[[nodiscard]] WriteResult write_all(int fd,
                                    std::string_view bytes,
                                    std::chrono::milliseconds patience = {});

/// Writes a small file that is there whole or not at all: a new one, of which only its owner may read, takes the place of the one
/// that was there. Follows no link. Its file system may hang. Fails with `System`.
[[nodiscard]] Result<> write_whole_file(const std::string& path, std::string_view text);

}  // namespace muster
