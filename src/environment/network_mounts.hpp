#pragma once

// Tells whether a path is on a network file system, by the kernel's list of mounts: no file system is asked, since it may hang.

#include <string>
#include <string_view>

namespace muster {

/// The type, such as "nfs4", of the network file system that has the path; empty: another one has it. Links on the way are not followed.
/// `mounts` is /proc/self/mountinfo, `path` absolute. Pure.
[[nodiscard]] std::string network_type_in(std::string_view mounts, std::string_view path);

/// Asks for the mounts of this process.
[[nodiscard]] std::string network_type_of(std::string_view path);

}  // namespace muster
