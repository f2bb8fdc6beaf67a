#pragma once

// What the job's progress file looks like from outside. Private to run/.

#include <optional>
#include <string>

namespace muster {

/// A value that changes with the file, also when it is not there yet; empty without a path: none is
/// watched.
[[nodiscard]] std::optional<std::string> look_at_progress(const std::string& path);

}  // namespace muster
