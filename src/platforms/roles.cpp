// Joins --roles and the platform's task lists, and makes the lists the description of the nodes.
#include "platforms/roles.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/slots.hpp"
#include "platforms/task_config.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace muster {

// Lists of endpoints, and the numbering of agents over them.

namespace {

constexpr const char* kExpectedEndpoint = "host:port, such as worker-0:2222 or [::1]:2222";

}  // namespace

const Roles& tensorflow_roles() {
  static const Roles roles = {"chief", "worker", "ps", "evaluator"};
  return roles;
}

Result<> check_endpoint(const Sourced<std::string>& text) {
  const Endpoint endpoint = split_endpoint(text.value);
  const bool is_valid = endpoint.port && read_port({*endpoint.port, {}}) && read_address({endpoint.host, {}});
  return is_valid ? Result<>() : wrong_value({shortened(text.value), text.source}, kExpectedEndpoint);
}

Result<std::vector<std::string>> read_endpoints(const Sourced<std::string>& text) {
  // An endpoint always has a port, so a text that ends with "]" is a bracketed list.
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
    TRY(check_endpoint({entry, place}));
  }
  return endpoints;
}

Result<> check_endpoints_differ(const std::vector<RoleEndpoints>& lists, const Source& source) {
  std::set<std::string> seen;
  for (const RoleEndpoints& list : lists) {
    const auto repeated = std::ranges::find_if(
        list.endpoints, [&](const std::string& endpoint) { return !seen.insert(endpoint).second; });
    if (repeated != list.endpoints.end()) {
      return wrong_value({*repeated, part_of(source, ", role " + list.role + ",")}, "a host:port that it lists once");
    }
  }
  return {};
}

const RoleEndpoints* find_role(const std::vector<RoleEndpoints>& lists, const std::string& role) {
  return first_of(lists, [&](const RoleEndpoints& list) { return list.role == role; });
}

std::vector<RoleSize> sizes_of(const TaskLists& tasks) {
  if (tasks.is_alone) {
    return {{tasks.role, 1}};
  }
  return mapped(tasks.roles, [](const RoleEndpoints& list) {
    return RoleSize{list.role, static_cast<int>(list.endpoints.size())};
  });
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

std::string to_text(const std::vector<RoleSize>& sizes) {
  std::string text;
  for (const RoleSize& size : sizes) {
    text += (text.empty() ? "" : ",") + size.role + "=" + std::to_string(size.count);
  }
  return text;
}

namespace {

/// Ports on which tasks listen on the host of agent 0, each with the task's entry. A lone evaluator leads on its own
/// host, where no task listens.
std::map<int, std::string> listeners_on_leader(const TaskLists& tasks) {
  std::map<int, std::string> listeners;
  if (tasks.is_alone) {
    return listeners;
  }
  const std::string leader = hosts_of(tasks).front();
  const auto add = [&](const std::string& text) {
    const Endpoint endpoint = split_endpoint(text);
    if (endpoint.host == leader) {
      listeners[parse_integer(*endpoint.port, 1, kMostPort).value_or(0)] = text;
    }
  };
  for (const RoleEndpoints& list : tasks.roles) {
    std::ranges::for_each(list.endpoints, add);
  }
  return listeners;
}

constexpr const char* kExpectedSizes = "numbers of processes by role, such as chief=1,worker=2,ps=2";

Error unknown_role(const std::string& name, const Source& source, const Roles& roles) {
  return Error{error_kind(source), source.name + " has the unknown role '" + name + "'" +
                                       did_you_mean(name, roles, "; this mode has " + join(roles, ", "))};
}

Result<RoleSize> read_role_size(const std::string& piece, const Sourced<std::string>& text, const Roles& roles) {
  const std::size_t equals = piece.find('=');
  if (equals == std::string::npos || equals == 0) {
    return wrong_value(text, kExpectedSizes);
  }
  const std::string name = piece.substr(0, equals);
  if (!contains(roles, name)) {
    return unknown_role(name, text.source, roles);
  }
  const Sourced<std::string> count{piece.substr(equals + 1), part_of(text.source, " " + name)};
  return RoleSize{name, TRY(read_number_within(count, 0, kMostNodes, "a number of processes"))};
}

/// Reads "chief=1,worker=2" for a mode with these roles.
Result<std::vector<RoleSize>> read_role_sizes(const Sourced<std::string>& text, const Roles& roles) {
  if (roles.empty()) {
    return Error{error_kind(text.source),
                 text.source.name + " is '" + text.value + "', but this mode has no roles whose number can be given"};
  }
  std::vector<RoleSize> sizes;
  long long total = 0;
  for (const std::string& piece : split(text.value, ',')) {
    const auto size = TRY(read_role_size(piece, text, roles));
    if (contains(mapped(sizes, &RoleSize::role), size.role)) {
      return wrong_value(text, "each role once, and " + size.role + " is there twice");
    }
    sizes.push_back(size);
    total += size.count;
  }
  if (text.value.empty()) {
    return wrong_value(text, kExpectedSizes);
  }
  if (total < 1 || total > kMostNodes) {
    return wrong_value(text, "1 to " + std::to_string(kMostNodes) + " processes in all");
  }
  return in_order_of(roles, sizes, [](const RoleSize& size) { return size.count > 0; });
}

Result<> read_tasks(JobRoles& job, const Choice& choice, const Snapshot& snapshot, const ClusterRequest& request,
                    const Roles& roles) {
  if (choice.platform == nullptr || (roles.empty() && !choice.platform->is_list_of_tasks)) {
    return {};
  }
  auto tasks = TRY(read_task_lists(snapshot, roles.empty() ? tensorflow_roles() : roles));
  const bool is_one_node = request.nodes && request.nodes->value.most == 1;  // wanted by the user
  if (tasks && !(is_one_node && hosts_of(*tasks).size() > 1)) {
    job.tasks = std::move(tasks);
  }
  return {};
}

}  // namespace

Result<JobRoles> read_job_roles(const Choice& choice, const Snapshot& snapshot, const ClusterRequest& request,
                                const Roles& roles) {
  JobRoles job;
  job.are_counted = !roles.empty();
  if (const auto& text = request.roles) {
    auto sizes = TRY(read_role_sizes(*text, roles));
    job.sizes = {std::move(sizes), text->source};
  }
  TRY(read_tasks(job, choice, snapshot, request, roles));
  if (job.sizes && job.tasks && job.sizes->value != sizes_of(*job.tasks)) {
    return contradiction({to_text(job.sizes->value), job.sizes->source},
                         {to_text(sizes_of(*job.tasks)), job.tasks->source},
                         "both give the number of processes of each role");
  }
  return job;
}

void apply_tasks(PlatformFacts& facts, const JobRoles& roles) {
  if (!roles.tasks) {
    return;
  }
  const TaskLists& tasks = *roles.tasks;
  const std::vector<std::string> hosts = hosts_of(tasks);
  facts.nodes = {std::max(1, static_cast<int>(hosts.size())), tasks.source};
  facts.least_nodes.reset();
  facts.node_rank = {number_of(tasks), tasks.own_source};
  facts.torn_nodes.reset();
  facts.no_rank.reset();
  facts.hosts.reset();
  facts.master_address.reset();
  if (tasks.is_alone) {
    facts.master_port.reset();  // it belongs to the cluster, not to this job
  } else {
    facts.hosts = {hosts, tasks.source};
    facts.master_address = {hosts.front(), tasks.source};
  }
  facts.workers.reset();
  if (roles.are_counted) {
    facts.slots = {"1", tasks.source};
  }
}

Result<> check_against_tasks(const PlatformFacts& facts, const JobRoles& roles) {
  if (!roles.tasks || !roles.are_counted) {
    return {};
  }
  const TaskLists& tasks = *roles.tasks;
  const Sourced<int> count{std::max(1, static_cast<int>(hosts_of(tasks).size())), tasks.source};
  const int least = facts.least_nodes.value_or(facts.nodes->value);
  if (facts.nodes->value != count.value || least != count.value) {
    return contradiction(nodes_as_written(facts), as_text(count), "each task that is listed is a node");
  }
  const Sourced<int> number{number_of(tasks), tasks.own_source};
  if (facts.node_rank && facts.node_rank->value != number.value) {
    return contradiction(*facts.node_rank, number, "the tasks are numbered as nodes, role after role");
  }
  if (facts.slots && facts.slots->value != "1") {
    return contradiction(*facts.slots, as_text(count), "each task that is listed is one process");
  }
  return {};
}

void avoid_listeners(PlatformFacts& facts, const JobRoles& roles) {
  std::optional<Sourced<int>>& port = facts.master_port;
  if (!roles.tasks || !port || port->source.kind != SourceKind::Default) {
    return;
  }
  const auto listeners = listeners_on_leader(*roles.tasks);
  while (port->value < kMostPort && listeners.contains(port->value)) {
    ++port->value;
  }
}

Result<> check_ports(const Ports& ports, const JobRoles& roles) {
  if (!roles.tasks) {
    return {};
  }
  const auto listeners = listeners_on_leader(*roles.tasks);
  for (const Port& port : {ports.rendezvous, ports.workers, ports.agents}) {
    const auto listener = port ? listeners.find(port->value) : listeners.end();
    if (listener != listeners.end()) {
      return contradiction(as_text(*port), {listener->second, roles.tasks->source},
                           "a task listens on that port of the leader");
    }
  }
  return {};
}

void add_roles(Cluster& cluster, const JobRoles& roles) {
  if (roles.sizes) {
    cluster.job.roles = roles.sizes->value;
    cluster.decisions.push_back({"roles", to_text(cluster.job.roles), roles.sizes->source.name});
  }
  if (!roles.tasks || !roles.are_counted) {
    return;
  }
  const TaskLists& tasks = *roles.tasks;
  if (!roles.sizes) {
    cluster.job.roles = sizes_of(tasks);
    cluster.decisions.push_back({"roles", to_text(cluster.job.roles), tasks.source.name});
  }
  cluster.job.endpoints = tasks.roles;
  cluster.has_task_config = tasks.is_task_config;
  cluster.decisions.push_back({"task", tasks.role + " " + std::to_string(tasks.index), tasks.own_source.name});
}

}  // namespace muster
