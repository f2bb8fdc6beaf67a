// Generates a table from the nodes' devices and addresses, and builds a Table from a document's layout.
#include "rank_table/generate.hpp"

#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/devices.hpp"
#include "rank_table/layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster::rank_table {
namespace {

constexpr int kGroup = 4;  ///< linked devices on servers of eight
constexpr int kBothGroups = 8;
constexpr int kHighestDevice = 1'023;

/// True for a variable whose list has no device, such as "-1".
bool hides_all(const Snapshot& snapshot, const char* variable) {
  const auto list = snapshot.variable(variable);
  return list && read_device_list(*list).empty();
}

/// The shown devices, or those that lists leave. A number in the runtime's list that is no position among them is an
/// error. Where no device is shown, the files may be hidden from muster.
Result<std::vector<int>> visible_devices(const Snapshot& snapshot) {
  if (hides_all(snapshot, "ASCEND_VISIBLE_DEVICES") || hides_all(snapshot, "ASCEND_RT_VISIBLE_DEVICES")) {
    return std::vector<int>();
  }
  std::vector<int> shown = ascend_devices_of_container(snapshot);
  const std::string list = snapshot.variable("ASCEND_RT_VISIBLE_DEVICES").value_or("");
  const std::vector<DeviceEntry> places = read_device_list(list);
  const bool are_there = std::ranges::all_of(places, [&](const DeviceEntry& place) {
    return place.number && static_cast<std::size_t>(*place.number) < shown.size();
  });
  if (!shown.empty() && !are_there) {
    return Error{ErrorKind::BadEnvironment, "ASCEND_RT_VISIBLE_DEVICES is '" + list + "', but this node shows " +
                                                count_of(shown.size(), "device")};
  }
  std::vector<int> left = visible_ascend_devices(snapshot);
  return left.empty() ? std::move(shown) : std::move(left);
}

/// Checks the two groups of a server of eight devices, each linked separately. Other servers have one group, or more
/// devices.
Result<> check_groups(const std::vector<int>& devices) {
  const auto [least, most] = std::minmax_element(devices.begin(), devices.end());
  const bool is_mixed = *least < kGroup && *most >= kGroup && *most < kBothGroups;
  if (is_mixed && devices.size() != kBothGroups) {
    std::vector<int> sorted = devices;
    std::ranges::sort(sorted);
    return Error{ErrorKind::BadEnvironment, "cannot generate a rank table for the devices " + describe_ranges(sorted) +
                                                ": expected some of 0-3, some of 4-7, or all eight"};
  }
  return {};
}

/// The device number in "address_3"; empty for another key.
std::optional<int> device_of(std::string_view key) {
  constexpr std::string_view kPrefix = "address_";
  return key.starts_with(kPrefix) ? parse_integer(key.substr(kPrefix.size()), 0, kHighestDevice) : std::nullopt;
}

/// The addresses in the text, in its order.
struct ParsedText {
  Addresses of_devices;              ///< address_N
  std::vector<std::string> in_turn;  ///< ipaddr, without device numbers
};

Error no_address(const std::string& name, std::size_t line, const std::string& value) {
  return Error{ErrorKind::BadData, "'" + name + "', line " + std::to_string(line) + ", has the address '" + value +
                                       "', expected one such as 192.168.100.101"};
}

Error two_addresses(const std::string& name, int device, const std::string& one, const std::string& other) {
  return Error{ErrorKind::BadData,
               "'" + name + "' has two addresses for device " + std::to_string(device) + ": " + one + " and " + other};
}

Result<ParsedText> read_lines(std::string_view text, const std::string& name) {
  ParsedText said;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::size_t end = line.find_first_of("=:");
    const std::string key(trim(std::string_view(line).substr(0, end)));
    const std::string value(end == std::string::npos ? std::string_view()
                                                     : trim(std::string_view(line).substr(end + 1)));
    const auto device = device_of(key);
    if (!device && key != "ipaddr") {
      continue;  // a mask, a gateway, a comment
    }
    if (!is_numeric_address(value)) {
      return no_address(name, number, value);
    }
    if (!device) {
      said.in_turn.push_back(value);
    } else if (said.of_devices.insert({*device, value}).first->second != value) {
      return two_addresses(name, *device, said.of_devices[*device], value);
    }
  }
  return said;
}

Result<Addresses> in_turn(const ParsedText& said, const std::string& name, const std::vector<int>& devices) {
  if (said.in_turn.size() != devices.size()) {
    return Error{ErrorKind::BadData, "'" + name + "' has " + count_of(said.in_turn.size(), "line") +
                                         " with ipaddr, expected one for each device of this node, which are " +
                                         std::to_string(devices.size())};
  }
  Addresses addresses;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    addresses[devices[i]] = said.in_turn[i];
  }
  return addresses;
}

Error cannot_generate(const std::string& why) {
  return {ErrorKind::BadData, "cannot generate a rank table" + why};
}

/// Adds a node's devices with the next ranks; fails where two nodes of one server have the same device.
Result<> add_devices(Table& table, Instance& server, const std::vector<Device>& devices, const std::string& node) {
  for (const Device& device : devices) {
    const bool is_there = std::ranges::any_of(server.devices, [&](const Device& one) { return one.id == device.id; });
    if (is_there) {
      return cannot_generate(": " + node + " has device " + std::to_string(device.id) + " of " + server.server_id +
                             ", which another node has already");
    }
    server.devices.push_back(device);
    server.devices.back().rank = table.size++;
  }
  return {};
}

/// Names of devices by their addresses.
using AddressOwners = std::map<std::string, std::string>;

Result<> check_address(AddressOwners& owners, const Device& device, const std::string& name, std::size_t servers) {
  if (device.addresses.empty() && servers > 1) {
    return cannot_generate(" for " + count_of(servers, "server") + ": " + name + " has no address, expected one in " +
                           kHccnFile);
  }
  const std::string address = address_bytes(device.addresses).value_or(device.addresses);
  if (const auto [owner, is_new] = owners.emplace(address, name); !is_new && !address.empty()) {
    return cannot_generate(": " + name + " has the address " + device.addresses + ", as " + owner->second + " has");
  }
  return {};
}

/// HCCL needs addresses across servers, and no two devices may have the same.
Result<> check_addresses(const Table& table) {
  AddressOwners owners;
  for (const Instance& server : table.instances) {
    for (const Device& device : server.devices) {
      TRY(check_address(owners, device, "device " + std::to_string(device.id) + " of " + server.server_id,
                        table.instances.size()));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<int>> choose_device_ids(const Snapshot& snapshot, int count) {
  auto devices = TRY(visible_devices(snapshot));
  const auto wanted = static_cast<std::size_t>(count);
  if (devices.size() < wanted) {
    return Error{ErrorKind::BadEnvironment, "cannot generate a rank table for " + count_of(wanted, "worker") +
                                                " of this node: it shows " + count_of(devices.size(), "Ascend device")};
  }
  devices.resize(wanted);
  TRY(check_groups(devices));
  return devices;
}

Result<Addresses> read_addresses(std::string_view text, const std::string& name, const std::vector<int>& devices) {
  auto said = TRY(read_lines(text, name));
  if (said.of_devices.empty()) {
    return in_turn(said, name, devices);
  }
  for (const int device : devices) {
    if (!said.of_devices.contains(device)) {
      return Error{ErrorKind::BadData, "'" + name + "' has no address_" + std::to_string(device) +
                                           ", expected one for each device of this node"};
    }
  }
  return said.of_devices;
}

Instance make_server(const std::string& server_id, const std::vector<int>& devices, const Addresses& addresses) {
  Instance server{"", server_id, {}, {}};
  for (const int id : devices) {
    server.devices.push_back({static_cast<int>(server.devices.size()), id, value_at(addresses, id), ""});
  }
  return server;
}

Result<Table> merge_servers(const std::vector<Instance>& nodes, const std::vector<std::string>& names) {
  Table table;
  std::map<std::string, std::size_t> places;  // of servers
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const auto [place, is_new] = places.emplace(nodes[node].server_id, table.instances.size());
    if (is_new) {
      table.instances.push_back({"", nodes[node].server_id, {}, {}});
    }
    Instance& server = table.instances[place->second];
    TRY(add_devices(table, server, nodes[node].devices, names[node]));
  }
  TRY(check_addresses(table));
  return table;
}

// Builds a table from the layout of a document.

namespace {

constexpr std::array<std::string_view, 4> kAddresses = {"host_ip", "container_ip", "pod_ip", "server_ip"};

/// The first address of a rank of form 2.0, from any network layer. Stops there, since large tables have many.
std::string_view address_in_layers(const json::object& rank) {
  std::string_view address;
  for_each_object(array_of(rank, "level_list"), [&address](const json::object& level) {
    const json::array* list = array_of(level, "rank_addr_list");
    const json::object* first = list == nullptr || list->empty() ? nullptr : list->front().if_object();
    address = address.empty() && first != nullptr ? text_of(*first, "addr") : address;
  });
  return address;
}

struct TableMaker {
  const Layout& layout;
  Breaches& breaches;
  int next_rank = 0;

  Table make() {
    Table table;
    table.form = layout.form;
    table.instances.reserve(layout.instances.size());
    for (const InstancePlace& place : layout.instances) {
      table.instances.push_back(make_instance(place));
    }
    table.size = next_rank;
    return table;
  }

  Instance make_instance(const InstancePlace& place) {
    const json::object& object = *place.instance;
    Instance instance;
    instance.pod_name = text_of(object, "pod_name");
    instance.server_id = text_of(object, "server_id");
    for (const std::string_view key : kAddresses) {
      if (const std::string_view address = text_of(object, key); !address.empty()) {
        instance.addresses.emplace_back(address);
      }
    }
    instance.devices.reserve(place.devices.size());
    for (const DevicePlace& device : place.devices) {
      instance.devices.push_back(make_device(device));
    }
    return instance;
  }

  Device make_device(const DevicePlace& place) {
    Device device;
    device.rank = next_rank++;
    if (layout.form != Form::Groups) {
      device.rank = number(*place.ranked, "rank_id", place_of_rank(place), kInvalidTable);
    }
    device.id = number(*place.device, "device_id", place.place, kLogOnly);
    device.addresses =
        layout.form == Form::Version2 ? address_in_layers(*place.device) : text_of(*place.device, "device_ip");
    device.super_device_id = plain_text(*place.device, "super_device_id");
    return device;
  }

  int number(const json::object& object, std::string_view key, const Place& place, std::string_view code) {
    const json::value* value = object.if_contains(key);
    const auto number = number_of(value);
    if (!number) {
      breaches.add(path_of(layout.form, place, key), value, "a number from 0", code);
    }
    return number.value_or(-1);
  }
};

}  // namespace

Table make_table(const json::object& root, const Layout& layout, Breaches& breaches) {
  Table table = TableMaker{layout, breaches}.make();
  add_super_pods(root, table);
  return table;
}

}  // namespace muster::rank_table
