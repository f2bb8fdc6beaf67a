// From the layout of a document to the table that it stands for.
#include "rank_table/layout.hpp"

#include <array>
#include <utility>

namespace muster::rank_table {
namespace {

constexpr std::array<std::string_view, 4> kAddresses = {
    "host_ip", "container_ip", "pod_ip", "server_ip"};

/// Of form 2.0: its first one, whatever layer of the network that is in. More are not looked for, since large tables
/// have many.
std::string_view address_in_layers(const json::object& rank) {
  std::string_view address;
  for_each_object(array_of(rank, "level_list"), [&address](const json::object& level) {
    const json::array* list = array_of(level, "rank_addr_list");
    const json::object* first =
        list == nullptr || list->empty() ? nullptr : list->front().if_object();
    address = address.empty() && first != nullptr ? text_of(*first, "addr") : address;
  });
  return address;
}

/// Where a rank stands: beside the device, or beside its instance.
Place place_of_rank(const DevicePlace& device) {
  Place place = device.place;
  place.device = device.ranked == device.device ? place.device : -1;
  return place;
}

class TableMaker {
 public:
  TableMaker(const Layout& layout, Breaches& breaches) : layout_(layout), breaches_(breaches) {}

  Table make() {
    Table table;
    table.form = layout_.form;
    table.instances.reserve(layout_.instances.size());
    for (const InstancePlace& place : layout_.instances) {
      table.instances.push_back(make_instance(place));
    }
    table.size = next_rank_;
    return table;
  }

 private:
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
    device.rank = next_rank_++;
    if (layout_.form != Form::Groups) {
      device.rank = number(*place.ranked, "rank_id", place_of_rank(place), kInvalidTable);
    }
    device.id = number(*place.device, "device_id", place.place, kLogOnly);
    device.addresses = layout_.form == Form::Version2 ? address_in_layers(*place.device)
                                                      : text_of(*place.device, "device_ip");
    device.super_device_id = plain_text(*place.device, "super_device_id");
    return device;
  }

  int number(const json::object& object,
             std::string_view key,
             const Place& place,
             std::string_view code) {
    const json::value* value = object.if_contains(key);
    const auto number = number_of(value);
    if (!number) {
      breaches_.add(path_of(layout_.form, place, key), value, "a number from 0", code);
    }
    return number.value_or(-1);
  }

  const Layout& layout_;
  Breaches& breaches_;
  int next_rank_ = 0;
};

}  // namespace

Table make_table(const json::object& root, const Layout& layout, Breaches& breaches) {
  Table table = TableMaker(layout, breaches).make();
  add_super_pods(root, table);
  return table;
}

}  // namespace muster::rank_table
