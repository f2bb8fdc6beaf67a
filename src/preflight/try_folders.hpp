#pragma once

// Writes and reads a small file in the folders of the job, for --preflight full.

#include <map>
#include <string>

namespace muster::preflight {

/// "succeed", or what fails in the first folder where it does: "log folder: No space left on device". `folders`: paths by
/// what they are; one that is missing is left out. Empty: there is none. The file has a random name, and none at all as
/// soon as it is open. Blocks as long as a file system hangs.
std::string try_folders(const std::map<std::string, std::string>& folders);

}  // namespace muster::preflight
