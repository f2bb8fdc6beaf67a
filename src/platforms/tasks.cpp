// Lists of endpoints, and the numbering of agents over them. Pure.
#include "platforms/tasks.hpp"

#include "platforms/hosts.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <set>

namespace muster {
namespace {

constexpr const char* kExpectedEndpoint = "host:port, such as worker-0:2222 or [::1]:2222";

bool is_endpoint(const std::string& text) {
  const Endpoint endpoint = split_endpoint(text);
  return endpoint.port && read_port({*endpoint.port, {}}) && read_address({endpoint.host, {}});
}

}  // namespace

const Roles& tensorflow_roles() {
  static const Roles roles = {"chief", "worker", "ps", "evaluator"};
  return roles;
}

Result<> check_endpoint(const Sourced<std::string>& text) {
  return is_endpoint(text.value)
             ? Result<>()
             : wrong_value({shortened(text.value), text.source}, kExpectedEndpoint);
}

Result<std::vector<std::string>> read_endpoints(const Sourced<std::string>& text) {
  // An endpoint always has a port, so a text that ends with "]" is a list in brackets.
  std::vector<std::string> endpoints = split(without_brackets(text.value), ',');
  if (endpoints.empty()) {
    return wrong_value(text, "a list of host:port, such as [a:2222,b:2222]");
  }
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    std::string& entry = endpoints[i];
    if (i > 0) {
      entry.erase(0, entry.find_first_not_of(' '));
    }
    const Source place = part_of(text.source, "[" + std::to_string(i) + "]");
    if (auto checked = check_endpoint({entry, place}); !checked) {
      return checked.error();
    }
  }
  return endpoints;
}

Result<> check_endpoints_differ(const std::vector<RoleEndpoints>& lists, const Source& source) {
  std::set<std::string> seen;
  for (const RoleEndpoints& list : lists) {
    const auto repeated = std::find_if(
        list.endpoints.begin(), list.endpoints.end(), [&](const std::string& endpoint) {
          return !seen.insert(endpoint).second;
        });
    if (repeated != list.endpoints.end()) {
      return wrong_value({*repeated, part_of(source, ", role " + list.role + ",")},
                         "a host:port that it lists once");
    }
  }
  return {};
}

const RoleEndpoints* find_role(const std::vector<RoleEndpoints>& lists, const std::string& role) {
  const auto found = std::find_if(
      lists.begin(), lists.end(), [&](const RoleEndpoints& list) { return list.role == role; });
  return found == lists.end() ? nullptr : &*found;
}

std::vector<RoleSize> sizes_of(const TaskLists& tasks) {
  if (tasks.is_alone) {
    return {{tasks.role, 1}};
  }
  std::vector<RoleSize> sizes;
  for (const RoleEndpoints& list : tasks.roles) {
    sizes.push_back({list.role, static_cast<int>(list.endpoints.size())});
  }
  return sizes;
}

int number_of(const TaskLists& tasks) {
  int number = tasks.is_alone ? 0 : tasks.index;
  for (const RoleSize& size : sizes_of(tasks)) {
    if (size.role == tasks.role) {
      break;
    }
    number += size.count;
  }
  return number;
}

std::vector<std::string> hosts_of(const TaskLists& tasks) {
  std::vector<std::string> hosts;
  if (tasks.is_alone) {
    return hosts;
  }
  for (const RoleEndpoints& list : tasks.roles) {
    for (const std::string& endpoint : list.endpoints) {
      hosts.push_back(split_endpoint(endpoint).host);
    }
  }
  return hosts;
}

std::map<int, std::string> listeners_on_leader(const TaskLists& tasks) {
  std::map<int, std::string> listeners;
  if (tasks.is_alone) {
    return listeners;
  }
  const std::string leader = hosts_of(tasks).front();
  const auto add = [&](const std::string& text) {
    const Endpoint endpoint = split_endpoint(text);
    if (endpoint.host == leader) {
      listeners[parse_integer(*endpoint.port, 1, 65'535).value_or(0)] = text;
    }
  };
  for (const RoleEndpoints& list : tasks.roles) {
    std::for_each(list.endpoints.begin(), list.endpoints.end(), add);
  }
  return listeners;
}

std::string to_text(const std::vector<RoleSize>& sizes) {
  std::string text;
  for (const RoleSize& size : sizes) {
    text += (text.empty() ? "" : ",") + size.role + "=" + std::to_string(size.count);
  }
  return text;
}

}  // namespace muster
