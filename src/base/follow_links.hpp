#pragma once

#include <filesystem>
#include <system_error>

namespace muster {

/// Where a file is in the end, if links stand under its name; unlike realpath(3) also where nothing is
/// there yet. Folders on the way stay as they are named. Fails for links in a circle.
[[nodiscard]] std::filesystem::path follow_links(std::filesystem::path path,
                                                 std::error_code& failed);

}  // namespace muster
