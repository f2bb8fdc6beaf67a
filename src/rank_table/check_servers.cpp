// Names of pods and servers, and addresses of hosts.
#include "rank_table/check.hpp"
#include "rank_table/pod_number.hpp"

#include "base/endpoint.hpp"

#include <map>
#include <set>
#include <utility>

namespace muster::rank_table {
namespace {

constexpr std::size_t kMostLetters = 63;

bool has_groups(const Checked& table) {
  return table.layout.form == Form::Groups || table.layout.form == Form::Standard;
}

void check_id(const Checked& table, const InstancePlace& instance) {
  const json::value* id = instance.instance->if_contains("server_id");
  const std::size_t letters = server_of(instance).size();
  if (letters == 0 || letters > kMostLetters) {
    table.breaches.add(path_of(table.layout.form, instance.place, "server_id"),
                       id,
                       "the server's address or name, 1 to 63 letters",
                       kInvalidTable);
  }
}

void check_ids(const Checked& table) {
  std::set<std::string_view> seen;
  for (const InstancePlace& instance : table.layout.instances) {
    check_id(table, instance);
    const std::string_view id = server_of(instance);
    const bool is_first = seen.insert(id).second;
    if (!is_first && !id.empty() && !has_groups(table)) {
      table.breaches.add(path_of(table.layout.form, instance.place, "server_id"),
                         instance.instance->if_contains("server_id"),
                         "a server that is listed once, with all its devices",
                         kInvalidTable);
    }
  }
}

void check_host_addresses(const Checked& table) {
  std::size_t with_address = 0;
  for (const InstancePlace& instance : table.layout.instances) {
    with_address += text_of(*instance.instance, "host_ip").empty() ? 0 : 1;
  }
  for (const InstancePlace& instance : table.layout.instances) {
    const json::value* value = instance.instance->if_contains("host_ip");
    const std::string_view address = text_of(*instance.instance, "host_ip");
    const std::string path = path_of(table.layout.form, instance.place, "host_ip");
    if (address.empty() && with_address > 0) {
      table.breaches.add(path, value, "an address, as other servers have one", kLogOnly);
    } else if (!address.empty() && !is_numeric_address(address)) {
      table.breaches.add(path, value, "an address of version 4 or 6", kInvalidTable);
    }
  }
}

/// Ranks go by the numbers of the pods, so there is one of each.
void check_pods(const Checked& table) {
  if (table.layout.form != Form::Groups) {
    return;
  }
  std::map<int, std::size_t> sizes;
  for (const InstancePlace& instance : table.layout.instances) {
    sizes[instance.place.group] += 1;
  }
  std::set<std::pair<int, std::uint64_t>> seen;
  for (const InstancePlace& instance : table.layout.instances) {
    const auto number = pod_number(text_of(*instance.instance, "pod_name"));
    const bool is_alone = sizes[instance.place.group] == 1;
    if (is_alone || (number && seen.insert({instance.place.group, *number}).second)) {
      continue;
    }
    table.breaches.add(path_of(table.layout.form, instance.place, "pod_name"),
                       instance.instance->if_contains("pod_name"),
                       "a name that ends with - and a number that no other pod of the group has");
  }
}

}  // namespace

void check_servers(const Checked& table) {
  if (table.layout.form == Form::Version2) {
    return;
  }
  check_pods(table);
  check_ids(table);
  check_host_addresses(table);
}

}  // namespace muster::rank_table
