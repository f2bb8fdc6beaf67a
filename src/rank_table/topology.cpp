// Orders a ring by the switches between its nodes, and reads the switches from a file or Volcano's topology.
#include "rank_table/topology.hpp"

#include "base/display_text.hpp"
#include "base/encoding.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "rank_table/layout.hpp"
#include "rank_table/read.hpp"
#include "rank_table/route_plan.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace muster::rank_table {
namespace {

Error wrong_line(const std::string& name, std::size_t line, const std::string& what) {
  return Error{ErrorKind::BadData, "line " + std::to_string(line) + " of '" + name + "' " + what};
}

constexpr std::string_view kLine = "a node and its switches from the top to the lowest, such as gpu-0 core/leaf-1";

/// Splits "core/spine-1/leaf-3" into switches; none where a name between two slashes is empty.
std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> switches = split(path, '/');
  const bool has_gap = std::ranges::any_of(switches, [](const std::string& one) { return one.empty(); });
  return has_gap ? std::vector<std::string>() : switches;
}

Result<> read_line(SwitchPaths& paths, std::string_view text, const std::string& name, std::size_t line) {
  std::istringstream words{with_plain_blanks(text)};
  std::string node;
  std::string path;
  std::string rest;
  words >> node >> path >> rest;
  std::vector<std::string> switches = split_path(path);
  if (switches.empty() || !rest.empty()) {
    return wrong_line(name, line, "is '" + one_line(text, 100) + "', expected " + std::string(kLine));
  }
  if (!paths.emplace(node, std::move(switches)).second) {
    return wrong_line(name, line, "has the node '" + one_line(node, 100) + "' once more");
  }
  return {};
}

/// The names of an instance; in the form without host names, the addresses of its devices.
std::vector<std::string> names_of(const Instance& instance) {
  std::vector<std::string> names = {instance.pod_name, instance.server_id};
  names.insert(names.end(), instance.addresses.begin(), instance.addresses.end());
  const bool has_name = std::ranges::any_of(names, [](const std::string& one) { return !one.empty(); });
  for (const Device& device : has_name ? std::vector<Device>() : instance.devices) {
    const auto addresses = split(device.addresses, ',');
    names.insert(names.end(), addresses.begin(), addresses.end());
  }
  return names;
}

/// The path of the instance's first name that has one; fails where another name has a different path.
Result<const std::vector<std::string>*> find_path(const Instance& instance, const SwitchPaths& paths,
                                                  const std::string& name) {
  auto found = paths.end();
  for (const std::string& one : names_of(instance)) {
    const auto here = one.empty() ? paths.end() : paths.find(one);
    if (here != paths.end() && found != paths.end() && here->second != found->second) {
      return Error{ErrorKind::BadData, "'" + name + "' has different switches for '" + found->first + "' and '" +
                                           here->first + "', which are the same node"};
    }
    found = found == paths.end() ? here : found;
  }
  return found == paths.end() ? nullptr : &found->second;
}

/// An instance as a node of the network.
struct Node {
  std::vector<std::string> groups;  ///< its super pod, its switches from the top, its server
  const std::vector<std::string>* switches = nullptr;
  std::size_t instance = 0;
  int least_rank = 0;
};
using Nodes = std::vector<Node>;

std::string label(const Instance& instance) {
  for (const std::string& one : names_of(instance)) {
    if (!one.empty()) {
      return one_line(one, 100);
    }
  }
  return instance.devices.empty() ? "" : "rank " + std::to_string(instance.devices.front().rank);
}

std::map<std::string, std::string> super_pods_of_servers(const Table& table) {
  std::map<std::string, std::string> of_server;
  for (const SuperPod& pod : table.super_pods) {
    for (const std::string& server : pod.server_ids) {
      of_server[server] = pod.id;
    }
  }
  return of_server;
}

Node make_node(const Table& table, std::size_t index, const std::vector<std::string>& switches) {
  const Instance& instance = table.instances[index];
  Node node{switches, &switches, index, table.size};
  node.groups.push_back(instance.server_id);
  for (const Device& device : instance.devices) {
    node.least_rank = std::min(node.least_rank, device.rank);
  }
  return node;
}

/// Finds the node of each instance, in the order of the table.
Result<Nodes> find_nodes(const Table& table, const SwitchPaths& paths, const std::string& name) {
  const auto super_pods = super_pods_of_servers(table);
  Nodes nodes;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < table.instances.size(); ++i) {
    const Instance& instance = table.instances[i];
    const auto path = TRY(find_path(instance, paths, name));
    if (path == nullptr) {
      missing.push_back(label(instance));
      continue;
    }
    Node node = make_node(table, i, *path);
    node.groups.insert(node.groups.begin(), value_at(super_pods, instance.server_id));
    nodes.push_back(std::move(node));
  }
  if (!missing.empty()) {
    return Error{ErrorKind::BadData, "'" + name + "' has no switches for " + count_of(missing.size(), "node") +
                                         " of the rank table, the first is '" + missing.front() + "'"};
  }
  return nodes;
}

/// Sorts by groups in the order of their first occurrence, and recursively within each group.
void sort_by_groups(Nodes& nodes) {
  std::map<std::string, std::size_t> first;  // first occurrence of a group, together with all groups above it
  std::vector<std::pair<std::vector<std::size_t>, Node>> keyed;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::size_t> key;
    std::string prefix;
    for (const std::string& group : nodes[i].groups) {
      prefix += group + '\0';
      key.push_back(first.emplace(prefix, i).first->second);
    }
    key.push_back(i);
    keyed.emplace_back(std::move(key), std::move(nodes[i]));
  }
  std::ranges::sort(keyed, [](const auto& one, const auto& other) { return one.first < other.first; });
  std::ranges::transform(keyed, nodes.begin(), [](auto& one) { return std::move(one.second); });
}

std::vector<int> ranks_of(const Table& table) {
  std::vector<int> ranks;
  for (const Instance& instance : table.instances) {
    for (const Device& device : instance.devices) {
      ranks.push_back(device.rank);
    }
  }
  return ranks;
}

/// Number of switches between two nodes; nodes without a common switch meet at one imagined switch above all.
std::size_t hops_between(const Node& one, const Node& other) {
  if (one.groups == other.groups && !one.groups.back().empty()) {
    return 0;  // on one server
  }
  const auto& a = *one.switches;
  const auto& b = *other.switches;
  const auto shared = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  return a.size() + b.size() - 2 * shared + 1;
}

/// Instance indices by rank; empty unless each rank from 0 on occurs once.
std::optional<std::vector<std::size_t>> instances_by_rank(const Table& table, const std::vector<int>& ranks) {
  constexpr auto kUnset = static_cast<std::size_t>(-1);
  std::vector<std::size_t> instances(ranks.size(), kUnset);
  std::vector<std::size_t> of_devices;
  for (std::size_t i = 0; i < table.instances.size(); ++i) {
    of_devices.insert(of_devices.end(), table.instances[i].devices.size(), i);
  }
  for (std::size_t device = 0; device < of_devices.size(); ++device) {
    const auto rank = static_cast<std::size_t>(ranks[device]);
    if (rank >= instances.size() || instances[rank] != kUnset) {
      return std::nullopt;
    }
    instances[rank] = of_devices[device];
  }
  return instances;
}

/// Hops once around the ring of all ranks. The nodes are in the order of the table.
int count_hops(const std::vector<std::size_t>& instances, const Nodes& nodes) {
  std::size_t hops = 0;
  for (std::size_t rank = 0; rank < instances.size(); ++rank) {
    const std::size_t here = instances[rank];
    const std::size_t next = instances[(rank + 1) % instances.size()];
    hops += here == next ? 0 : hops_between(nodes[here], nodes[next]);
  }
  return static_cast<int>(hops);
}

}  // namespace

Result<SwitchPaths> read_switches(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  if (const std::string_view start = trim(text); start.starts_with('{') || start.starts_with('[')) {
    return Error{ErrorKind::BadData, "'" + name + "' is JSON, expected lines of " + std::string(kLine)};
  }
  SwitchPaths paths;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    const std::string_view said = trim(whole.substr(0, whole.find('#')));
    ++line;
    if (said.empty()) {
      continue;
    }
    TRY(read_line(paths, said, name, line));
  }
  return paths;
}

std::vector<int> ranks_in_order(const Table& table, const std::vector<std::size_t>& instances) {
  std::vector<std::vector<int>> ranks(table.instances.size());
  int next = 0;
  for (const std::size_t instance : instances) {
    const auto& devices = table.instances[instance].devices;
    std::vector<std::size_t> order(devices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t device) { return devices[device].rank; });
    ranks[instance].resize(devices.size());
    for (const std::size_t device : order) {
      ranks[instance][device] = next++;
    }
  }
  std::vector<int> all;
  for (const auto& of_instance : ranks) {
    all.insert(all.end(), of_instance.begin(), of_instance.end());
  }
  return all;
}

Result<RingOrder> order_ring(const Table& table, const SwitchPaths& paths, const std::string& name) {
  const auto found = TRY(find_nodes(table, paths, name));
  RingOrder order{ranks_of(table)};
  const auto before = instances_by_rank(table, order.ranks);
  if (!before) {
    return Error{ErrorKind::BadData,
                 "the rank table does not give each rank from 0 to " + std::to_string(order.ranks.size()) + " once"};
  }
  Nodes nodes = found;
  std::ranges::stable_sort(nodes, [](const Node& one, const Node& other) { return one.least_rank < other.least_rank; });
  sort_by_groups(nodes);
  std::vector<int> ranks = ranks_in_order(table, mapped(nodes, &Node::instance));
  order.hops_before = count_hops(*before, found);
  order.hops_after = count_hops(*instances_by_rank(table, ranks), found);
  if (order.hops_after < order.hops_before) {
    order.ranks = std::move(ranks);
  } else {
    order.hops_after = order.hops_before;
  }
  return order;
}

std::string describe(const RingOrder& order) {
  return std::to_string(order.hops_after) + ", before " + std::to_string(order.hops_before);
}

Table with_ranks(Table table, const std::vector<int>& ranks) {
  std::size_t device = 0;
  for (Instance& instance : table.instances) {
    for (Device& one : instance.devices) {
      one.rank = ranks.at(device++);
    }
  }
  return table;
}

// Names under which a switch file may have the nodes of form 2.0, which has no host names: the network of the lowest
// layer, and the addresses of the devices. They are read from the text, since no other code needs them.

namespace {

std::vector<std::string> network_names(const InstancePlace& place) {
  std::vector<std::string> names = {std::string(lowest_network(*place.instance))};
  for (const DevicePlace& device : place.devices) {
    for_each_object(array_of(*device.device, "level_list"), [&](const json::object& level) {
      for_each_object(array_of(level, "rank_addr_list"),
                      [&](const json::object& address) { names.emplace_back(text_of(address, "addr")); });
    });
  }
  std::erase(names, "");
  return names;
}

/// Separates the instances as `read` does.
Table with_network_names(Table table, std::string_view text) {
  Memory memory;
  json::object root = parse_again(text, memory);
  Breaches ignored(0);
  const Layout layout = lay_out(root, ignored);
  for (std::size_t i = 0; i < layout.instances.size() && i < table.instances.size(); ++i) {
    table.instances[i].addresses = network_names(layout.instances[i]);
  }
  return table;
}

}  // namespace

Result<RingOrder> order_ring(const TableFile& file, const NetworkFile& network) {
  return file.table.form == Form::Version2
             ? order_ring(with_network_names(file.table, file.text), network.switches, network.path)
             : order_ring(file.table, network.switches, network.path);
}

// Reads the topology that Volcano's controller writes for ROUTE_PLAN; the text is untrusted.

namespace {

/// The maximum size of a ConfigMap, with a margin, and twice the topology of 131,072 devices.
constexpr std::size_t kMostText = std::size_t{4} << 20U;
constexpr std::size_t kMostDocument = std::size_t{32} << 20U;

Error wrong(const std::string& name, const std::string& what) {
  return Error{ErrorKind::BadData, "the topology '" + name + "' " + what};
}

Error unknown_form(const std::string& name, const std::string& what) {
  return wrong(name, "has an unknown form: " + what);
}

/// The switches of a server's devices, joined to one name; empty: a device has none.
std::string switches_of(const json::object& server) {
  const json::array* const devices = array_of(server, "device");
  std::set<std::string> switches;
  for (const json::value& device : devices != nullptr ? *devices : json::array()) {
    const json::object* const one = device.if_object();
    switches.emplace(one != nullptr ? text_of(*one, "tor_ip") : "");
  }
  const bool is_whole = !switches.empty() && switches.count("") == 0;
  return is_whole ? join(std::vector<std::string>(switches.begin(), switches.end()), "+") : "";
}

TopologyReading read_servers(const json::array& servers, const std::string& name) {
  SwitchPaths paths;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const json::object* const server = servers[i].if_object();
    const std::string switches = server != nullptr ? switches_of(*server) : "";
    const std::string id(server != nullptr ? text_of(*server, "server_id") : "");
    if (switches.empty() || id.empty()) {
      return unknown_form(name, "server_list[" + std::to_string(i) + "] lacks a server_id or a tor_ip of each device");
    }
    const std::vector<std::string> path = {switches};
    if (paths.emplace(id, path).first->second != path) {
      return wrong(name, "has different switches for the server '" + one_line(id, 100) + "'");
    }
  }
  return paths;
}

/// True for incomplete base64 of a gzip stream. Any other text is invalid, and waiting for more is useless.
bool may_be_packed(std::string_view letters) {
  constexpr std::string_view kStart = "H4sI";  // the first three bytes that gzip writes
  const bool is_base64 = std::ranges::all_of(letters, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("+/= \t\r\n").find(letter) != std::string_view::npos;
  });
  return is_base64 && kStart.starts_with(letters.substr(0, kStart.size()));
}

}  // namespace

TopologyReading read_topology(std::string_view document, const std::string& name) {
  boost::system::error_code torn;
  const json::value parsed = json::parse(document, torn);
  if (torn) {
    return unknown_form(name, "it is no JSON");  // the compressed text is complete
  }
  const json::object* const topology = parsed.if_object();
  if (topology == nullptr) {
    return unknown_form(name, "it is no JSON object");
  }
  const std::string_view status = text_of(*topology, "status");
  if (status != "completed") {
    return Unfinished{status.empty() ? "without a status" : one_line(status, 60)};
  }
  const json::array* const servers = array_of(*topology, "server_list");
  return servers != nullptr ? read_servers(*servers, name)
                            : TopologyReading(unknown_form(name, "it has no server_list"));
}

TopologyReading decode_topology(std::string_view text, const std::string& name) {
  if (text.size() > kMostText) {
    return wrong(name, "has more than " + std::to_string(kMostText) + " bytes");
  }
  const std::string_view letters = trim(text);
  if (letters.empty()) {
    return Unfinished{"empty"};
  }
  if (!may_be_packed(letters)) {
    return unknown_form(name, "it is no base64 of what gzip packs");
  }
  const auto packed = decode_base64(letters);
  if (!packed || packed->empty()) {
    return Unfinished{"torn"};
  }
  const auto document = unpack_gzip(*packed, kMostDocument);
  if (!document) {
    return wrong(name, document.error().message);
  }
  return *document ? read_topology(**document, name) : TopologyReading(Unfinished{"torn"});
}

}  // namespace muster::rank_table
