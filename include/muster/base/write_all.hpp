#pragma once

#include <chrono>
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

}  // namespace muster
