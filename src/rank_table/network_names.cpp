// What a file of switches may call the nodes of form 2.0, which names no hosts: the network of the lowest layer, and
// the addresses of the devices. They are taken from the text, since nothing else needs them.
#include "rank_table/document.hpp"
#include "rank_table/layout.hpp"

#include "rank_table/topology.hpp"

#include <utility>

namespace muster::rank_table {
namespace {

void add_name(std::vector<std::string>& names, std::string_view name) {
  if (!name.empty()) {
    names.emplace_back(name);
  }
}

void add_addresses(std::vector<std::string>& names, const json::object& rank) {
  for_each_object(array_of(rank, "level_list"), [&](const json::object& level) {
    for_each_object(array_of(level, "rank_addr_list"), [&](const json::object& address) {
      add_name(names, text_of(address, "addr"));
    });
  });
}

std::vector<std::string> names_of(const InstancePlace& place) {
  std::vector<std::string> names;
  add_name(names, lowest_network(*place.instance));
  for (const DevicePlace& device : place.devices) {
    add_addresses(names, *device.device);
  }
  return names;
}

/// Tells the same instances apart as the reading did.
Table with_network_names(Table table, std::string_view text) {
  Memory memory;
  json::object root = parse_again(text, memory);
  Breaches ignored(0);
  const Layout layout = lay_out(root, ignored);
  for (std::size_t i = 0; i < layout.instances.size() && i < table.instances.size(); ++i) {
    table.instances[i].addresses = names_of(layout.instances[i]);
  }
  return table;
}

}  // namespace

Result<RingOrder> order_ring(const TableFile& file, const NetworkFile& network) {
  return file.table.form == Form::Version2
             ? order_ring(with_network_names(file.table, file.text), network.switches, network.path)
             : order_ring(file.table, network.switches, network.path);
}

}  // namespace muster::rank_table
