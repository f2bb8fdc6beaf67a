#pragma once

// Writes and reads a small file in the folders of the job, for --preflight full.

#include <map>
#include <string>

namespace muster::preflight {

/// Returns "succeed", or the fault of the first bad folder: "log folder: No space left on device". `folders`: paths
/// by their purpose; missing ones are left out. Empty: there is none. The file has a random name, which is removed as
/// soon as the file is open. Blocks as long as a file system hangs.
std::string try_folders(const std::map<std::string, std::string>& folders);

}  // namespace muster::preflight
