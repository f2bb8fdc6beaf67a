#pragma once

// Rank tables as values: which Ascend device is which rank, for HCCL. One type for all forms; docs/rank-tables.md
// describes the forms and their origins. The folder rank_table/ reads, checks and writes tables. Sources: CANN, "Rank
// table configuration"; hccl-controller and ascend-operator of MindCluster; hccl_tools.py of MindSpore.

#include "base/result.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster::rank_table {

/// The forms, with the members that identify them.
enum class Form {
  Groups,     ///< "0.1", also "template 2": `group_list` of `instance_list`, without ranks
  Standard,   ///< no `version`: `group_list` of `instance_list` with `rank_id`
  Version1,   ///< "1.0", also "template 1": `server_list`
  SuperPods,  ///< "1.2": `server_list` and `super_pod_list`
  Version2,   ///< "2.0": `rank_list`, numbers as numbers
};

struct Device {
  int rank = 0;                 ///< of the process, 0 to n-1; in `Form::Groups` by their order
  int id = 0;                   ///< N of /dev/davinciN
  std::string addresses;        ///< `device_ip`; several with commas between them; empty: none. In 2.0
                                ///< the first of each layer
  std::string super_device_id;  ///< empty: none
};

/// One pod's part of a table: an instance of `group_list`, a server of `server_list`, all ranks of one host in
/// `rank_list`. The latter has no hosts: there a host is a run of ranks with different devices.
struct Instance {
  std::string pod_name;                ///< empty: the form has none
  std::string server_id;               ///< of the host; several instances may share it in forms with `group_list`
  std::vector<std::string> addresses;  ///< other addresses of its host or pod: host_ip, container_ip, pod_ip
  std::vector<Device> devices;         ///< as they are listed
};

struct SuperPod {
  std::string id;
  std::vector<std::string> server_ids;
};

/// A complete table, of any form.
struct Table {
  Form form = Form::Version1;
  std::vector<Instance> instances;  ///< in the order of the table; of groups by the number that a
                                    ///< pod's name ends with
  std::vector<SuperPod> super_pods;
  int size = 0;  ///< devices of all instances
};

/// A table file that was read.
struct TableFile {
  std::string path;
  std::string text;
  Table table;
  /// The counter in the file `version` beside the table, which a controller changes together with it; empty: there is
  /// no such file.
  std::optional<int> version = {};
};

/// This node's part of a shared table.
struct RankedNode {
  int world_size = 0;           ///< devices of all nodes
  std::vector<Device> devices;  ///< of this node, in their order, with ranks
  std::string text;             ///< the table for the workers
};

// Requests of a user or a platform about a table.

/// Parameters of a generated table.
struct GenerateRequest {
  std::optional<Source> wanted;  ///< source of the request; empty: none
  Sourced<std::string> file;     ///< with the addresses of this node's devices; empty: none
  std::string text;              ///< its content
};

/// The switches above each node, from the top down. The key is the pod's name or the server's id. Equal names mean
/// the same switch only if all names above them are equal, too.
using SwitchPaths = std::map<std::string, std::vector<std::string>, std::less<>>;

/// A switch file that was read.
struct NetworkFile {
  std::string path;
  SwitchPaths switches;
};

/// A node's variables for the route plan.
struct RouteRequest {
  std::string topology_file;    ///< TOPO_FILE_PATH
  int wait_seconds = 300;       ///< ROUTE_TOPO_WAIT_TIME
  std::optional<int> position;  ///< RANK_AFTER_ACC: this node's place in the plan of the platform
  std::optional<int> first;     ///< MA_MASTER_INDEX: the index of that plan's first node
};

}  // namespace muster::rank_table
