// Applies rules to the members of a table.
#include "rank_table/rule.hpp"

namespace muster::rank_table {
namespace {

bool is_rank(const Item& item) {
  return item.device != nullptr && item.rule.member == "rank_id";
}

const json::object& object_of(const State& state, const Item& item) {
  if (item.device != nullptr) {
    return is_rank(item) ? *item.device->ranked : *item.device->device;
  }
  return item.server != nullptr ? *item.server->instance : state.table.root;
}

bool is_broken(State& state, Item& item) {
  item.value = object_of(state, item).if_contains(item.rule.member);
  return item.rule.is_broken(state, item);
}

using RuleList = std::vector<const Rule*>;

void see(State& state, const RuleList& rules, const InstancePlace* server = nullptr,
         const DevicePlace* device = nullptr) {
  for (const Rule* rule : rules) {
    Item item{*rule, server, device};
    if (is_broken(state, item)) {
      add(state, item, std::string(rule->expected));
    }
  }
}

void see_each(State& state, const RuleList& of_servers, const RuleList& of_devices) {
  for (const InstancePlace& server : state.table.layout.instances) {
    see(state, of_servers, &server);
    for (auto device = server.devices.begin(); !of_devices.empty() && device != server.devices.end(); ++device) {
      see(state, of_devices, &server, &*device);
    }
  }
}

}  // namespace

std::string path_of(const State& state, const Item& item) {
  Place place;
  if (item.device != nullptr) {
    place = is_rank(item) ? place_of_rank(*item.device) : item.device->place;
  } else if (item.server != nullptr) {
    place = item.server->place;
  }
  return path_of(state.form, place, item.rule.member);
}

void add(State& state, const Item& item, std::string expected) {
  if (const std::size_t at = expected.find('%'); at != std::string::npos) {
    expected.replace(at, 1, state.detail);
  }
  state.table.breaches.add(path_of(state, item), item.value, expected, item.rule.code);
}

void add_at(State& state, const Item& item, std::string path, const json::value* value, std::string_view expected) {
  state.table.breaches.add(std::move(path), value, expected, item.rule.code);
}

void see_all_devices(State& state, const Rule& rule) {
  std::optional<Item> first;
  std::size_t count = 0;
  for_each_device(state.table.layout, [&](const DevicePlace& device) {
    Item item{rule, nullptr, &device};
    const bool is_one = is_broken(state, item);
    count += is_one ? 1 : 0;
    if (is_one && !first) {
      first.emplace(item);
    }
  });
  if (first) {
    add(state, *first,
        std::string(rule.expected) + (count > 1 ? ", here and in " + std::to_string(count - 1) + " more" : ""));
  }
}

void apply(State& state, std::span<const Rule> rules) {
  std::map<int, std::map<Of, RuleList>> passes;
  for (const Rule& rule : rules) {
    if ((rule.forms & bit(state.form)) != 0) {
      passes[rule.pass][rule.of].push_back(&rule);
    }
  }
  for (auto& [pass, of] : passes) {
    see(state, of[Root]);
    see_each(state, of[EachServer], of[EachDevice]);
    for (const Rule* rule : of[AllDevices]) {
      see_all_devices(state, *rule);
    }
  }
}

bool is_missing(State&, const Item& item) {
  return item.value == nullptr;
}

bool is_text(State&, const Item& item) {
  return item.value != nullptr && item.value->is_string();
}

bool is_number(State&, const Item& item) {
  return item.value != nullptr && item.value->is_number();
}

}  // namespace muster::rank_table
