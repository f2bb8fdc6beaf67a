#pragma once

// Reads the kernel's list of mounts, and tells by it whether a path is on a network file system: no file system is asked, since it may
// hang.

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// One mount, from a line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
struct Mount {
  std::string root;   ///< the part of the file system that is mounted
  std::string point;  ///< where it is mounted, with escapes such as "\040"
  std::string type;
  std::string options;  ///< of the file system
};

/// Lines are "id parent dev root point options [tags] - type device options". Empty: it is no such line.
std::optional<Mount> parse_mount(const std::string& line);

/// The type, such as "nfs4", of the network file system that has the path; empty: a local one has it. Does not follow
/// links. `mounts` is /proc/self/mountinfo, `path` absolute. Pure.
std::string network_type_in(std::string_view mounts, std::string_view path);

/// True if reading the file needs a server: it is on a network file system, or on an overlay with a lower layer on
/// one. Layers that this process cannot see count as local. `mounts` and `path` as above. Pure.
bool is_read_from_network(std::string_view mounts, std::string_view path);

/// The mounts of this process, as /proc/self/mountinfo has them.
std::string read_mounts();

/// Finds the type of the network file system by the mounts of this process.
std::string network_type_of(std::string_view path);

}  // namespace muster
