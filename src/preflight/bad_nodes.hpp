#pragma once

// The file of --bad-nodes: nodes that failed by themselves in earlier jobs. A line is a node; its columns are the name of the
// machine, the end of the entry, the time of the failure and the reason. Lines that begin with # are comments
// (docs/preflight.md).

#include "base/console_time.hpp"
#include "base/result.hpp"
#include "gang/preflight_values.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::preflight {

struct BadNodes {
  std::vector<gang::BadNode> nodes;  ///< those that have not ended
  std::size_t unreadable = 0;        ///< lines that are no entries
};

/// True for a name of letters, digits, dots, hyphens and underscores, of at most 253 bytes, as host names are.
bool is_machine_name(std::string_view name);

/// Pure.
BadNodes parse_bad_nodes(std::string_view text, WallTime now);

/// Adds this node to the text, for seven days. Removes its earlier entry, and entries that have ended; other lines
/// stay as they are. `node.until` is not read. Pure.
std::string with_bad_node(std::string_view text, const gang::BadNode& node, WallTime now);

/// The text of the file; empty: there is none. Blocks as long as the file system hangs. Fails with `System`.
[[nodiscard]] Result<std::string> read_bad_nodes(const std::string& path);

/// Adds the node to the file. Several jobs may do so at once; a job that is killed meanwhile leaves the old file or
/// the new one. Waits for the others, and blocks as long as the file system hangs. Fails with `System`.
[[nodiscard]] Result<> keep_bad_node(const std::string& path, const gang::BadNode& node, WallTime now);

}  // namespace muster::preflight
