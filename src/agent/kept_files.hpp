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

/// Reads at most `most` bytes of a kept file. Empty: there is none, or somebody else may have written it.
std::string read_kept_file(const std::string& path, std::size_t most);

/// Writes a kept file in a folder that only this user may enter, and removes files beside it that are 90 days old.
/// Writes nothing if that fails, or if the folder belongs to somebody else.
void write_kept_file(const std::string& path, std::string_view content);

}  // namespace muster
