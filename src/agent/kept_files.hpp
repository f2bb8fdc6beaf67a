#pragma once

// Files in the user's cache folder that keep something for later jobs. All of it blocks, so it runs in a helper process: a home folder
// may hang. Private to src/agent.

#include "standby/standby_rules.hpp"

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// Size and time of a regular file.
standby::FileState state_of_file(const std::string& path, const struct stat& status);

/// At most `most` bytes of it. Empty: there is none, or somebody else may have written it.
std::string read_kept_file(const std::string& path, std::size_t most);

/// Writes it, in a folder that this user alone may enter, and removes files beside it that are 90 days old. A file that cannot be
/// written, or is in a folder of somebody else, is none.
void write_kept_file(const std::string& path, std::string_view content);

}  // namespace muster
