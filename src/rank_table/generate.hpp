#pragma once

// Tables that nobody has written: each node says which devices it has, and all of it is one table.
// Source: hccl_tools.py and merge_hccl.py of MindSpore, which do this by hand.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "rank_table/rank_table.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// Where the driver keeps the addresses of the devices.
inline constexpr const char* kHccnFile = "/etc/hccn.conf";

/// What is said about a table that the nodes make.
struct GenerateRequest {
  std::optional<Source> wanted;  ///< who asks for it; empty: nobody does
  Sourced<std::string> file;     ///< where the addresses of this node's devices are; empty: nowhere
  std::string text;              ///< what stands there
};

/// Device -> its address.
using Addresses = std::map<int, std::string>;

/// The devices of this node by their numbers on the host: those that lists leave, as `visible_ascend_devices`
/// has it, else all that are shown; the first `count`. Fails where there are fewer, where the runtime's list
/// names none of them, and where they are some of 0-3 and some of 4-7 but not all eight: the two groups
/// have no link of their own.
[[nodiscard]] Result<std::vector<int>> choose_device_ids(const Snapshot& snapshot, int count);

/// Reads lines `address_N=a.b.c.d` as /etc/hccn.conf has them, or what `hccn_tool -i N -ip -g` has printed
/// for one of `devices` after the other: `ipaddr:a.b.c.d`. Fails for other texts, and where one of the
/// devices has none. `name` is what errors call the text.
[[nodiscard]] Result<Addresses> read_addresses(std::string_view text, const std::string& name,
                                               const std::vector<int>& devices);

/// What a node has: without addresses only a table of one server can be made of it.
[[nodiscard]] Instance make_server(const std::string& server_id, const std::vector<int>& devices,
                                   const Addresses& addresses);

/// One table of the nodes' servers: ranks by node, then by device as they are listed. Nodes with the same
/// `server_id` share a server. `names` is what errors call the nodes.
[[nodiscard]] Result<Table> merge_servers(const std::vector<Instance>& nodes, const std::vector<std::string>& names);

}  // namespace muster::rank_table
