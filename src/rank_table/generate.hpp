#pragma once

// Generates a table from the devices that each node reports. Source: hccl_tools.py and merge_hccl.py of MindSpore,
// which do this by hand.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "rank_table/rank_table.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// File in which the driver keeps the addresses of the devices.
inline constexpr const char* kHccnFile = "/etc/hccn.conf";

/// Device -> its address.
using Addresses = std::map<int, std::string>;

/// Chooses the first `count` devices of this node by their host numbers: of those in `visible_ascend_devices`, else
/// of all. Fails if there are fewer, if the runtime's list names none of them, and if they mix 0-3 and 4-7 without
/// being all eight, because these two groups are not linked.
[[nodiscard]] Result<std::vector<int>> choose_device_ids(const Snapshot& snapshot, int count);

/// Reads lines `address_N=a.b.c.d` as in /etc/hccn.conf, or the output of `hccn_tool -i N -ip -g` for `devices` in
/// order: `ipaddr:a.b.c.d`. Fails for other texts, and where a device has no address. `name` is the text's name in
/// errors.
[[nodiscard]] Result<Addresses> read_addresses(std::string_view text, const std::string& name,
                                               const std::vector<int>& devices);

/// The server of one node; without addresses it can only be part of a table of one server.
Instance make_server(const std::string& server_id, const std::vector<int>& devices, const Addresses& addresses);

/// Merges the nodes' servers into one table: ranks by node, then in the order of devices. Nodes with the same
/// `server_id` share a server. `names` are the nodes' names in errors.
[[nodiscard]] Result<Table> merge_servers(const std::vector<Instance>& nodes, const std::vector<std::string>& names);

}  // namespace muster::rank_table
