#pragma once

// Files that somebody else has written.

#include <cstddef>
#include <string>

namespace muster {

/// The content of a regular file, at most `limit` bytes; empty when it cannot be read. A worker
/// wrote it: it may be a pipe, a link or huge. Its file system may hang, and whoever calls with it.
[[nodiscard]] std::string read_untrusted_file(const std::string& path, std::size_t limit);

}  // namespace muster
