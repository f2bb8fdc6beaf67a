// From a list of hosts to a remote shell for each, and to what each agent is told. Pure.
#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "environment/own_host.hpp"
#include "remote/fan_out.hpp"

#include <algorithm>
#include <limits>

namespace muster {
namespace {

/// The user's own remote shell is always asked.
bool is_here(const FanOut& fan_out, const GivenHost& host) {
  return host.is_here && fan_out.shell.source.kind == SourceKind::Default;
}

/// On other hosts "localhost" would lead to themselves.
std::string leader_of(const FanOut& fan_out) {
  const GivenHost& first = fan_out.hosts.value.front();
  const auto given = fan_out.order.line.settings.find("master-addr");
  return given ? given->value : is_loopback(first.host) ? fan_out.local_host : first.host;
}

/// What the list says of a host, unless the user counts the workers himself.
bool are_slots_of_list(const AgentOrder& order, const GivenHost& host) {
  const auto given = order.line.settings.find("nproc-per-node");
  return host.slots && (!given || given->value == "auto");
}

/// Workers that this host will have; 0: it counts its accelerators.
int slots_of(const FanOut& fan_out, const GivenHost& host) {
  if (are_slots_of_list(fan_out.order, host)) {
    return *host.slots;
  }
  const auto given = fan_out.order.line.settings.find("nproc-per-node");
  return given ? parse_integer(given->value, 1, std::numeric_limits<int>::max()).value_or(0) : 0;
}

/// Where the agents meet; empty: there is one only.
std::optional<std::uint16_t> port_of(const FanOut& fan_out) {
  constexpr int kMostPort = 65'535;
  const auto given = fan_out.order.line.settings.find("master-port");
  const auto port = given ? parse_integer(given->value, 1, kMostPort) : std::nullopt;
  const bool is_needed = given || fan_out.hosts.value.size() > 1;
  return is_needed ? std::optional(static_cast<std::uint16_t>(port.value_or(kUsualPort)))
                   : std::nullopt;
}

WorkerPlan plan_shell(const FanOut& fan_out, std::size_t node) {
  const GivenHost& host = fan_out.hosts.value[node];
  WorkerPlan shell;
  shell.role = "node";
  shell.global_rank = GlobalRank{static_cast<int>(node)};
  shell.local_rank = LocalRank{static_cast<int>(node)};
  shell.role_rank = static_cast<int>(node);
  shell.label = host.host;
  shell.argv = is_here(fan_out, host) ? std::vector<std::string>{"/bin/sh", "-c", fan_out.command}
                                      : command_line_of(fan_out.shell, host.login, fan_out.command);
  shell.working_directory = fan_out.order.working_directory;
  return shell;
}

}  // namespace

AgentOrder order_of(const FanOut& fan_out, std::size_t node) {
  AgentOrder order = fan_out.order;
  const std::vector<GivenHost>& hosts = fan_out.hosts.value;
  order.host = hosts[node].host;
  order.is_first = node == 0;
  const auto set = [&](const char* name, const std::string& value) {
    order.line.settings.set(name, {value, fan_out.hosts.source});
  };
  set("platform", "flags");
  set("nnodes", std::to_string(hosts.size()));
  set("node-rank", std::to_string(node));
  if (!order.line.settings.has("master-addr") && hosts.size() > 1) {
    set("master-addr", leader_of(fan_out));
  }
  if (are_slots_of_list(order, hosts[node])) {
    set("nproc-per-node", std::to_string(*hosts[node].slots));
  }
  if (!hosts[node].devices.empty()) {
    std::string devices;
    for (const int device : hosts[node].devices) {
      devices += (devices.empty() ? "" : ",") + std::to_string(device);
    }
    order.line.settings.set("devices",
                            {devices, part_of(fan_out.hosts.source, ", devices of " + order.host)});
  }
  return order;
}

LaunchPlan make_front_plan(const FanOut& fan_out) {
  const std::vector<GivenHost>& hosts = fan_out.hosts.value;
  LaunchPlan plan;
  plan.platform = "flags";
  plan.mode = "fan-out";
  plan.nodes = static_cast<int>(hosts.size());
  plan.least_nodes = plan.nodes;
  plan.world_size = 0;
  plan.master_address = leader_of(fan_out);
  plan.master_port = port_of(fan_out);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    plan.hosts.emplace_back(hosts[i].host);
    plan.slots.push_back(slots_of(fan_out, hosts[i]));
    plan.world_size += plan.slots.back();
    plan.workers.push_back(plan_shell(fan_out, i));
  }
  const std::string& source = fan_out.hosts.source.name;
  const std::string shell = join(fan_out.shell.words, " ");
  plan.decisions = {{"platform", plan.platform, source},
                    {"nodes.count", std::to_string(plan.nodes), source},
                    {"rendezvous.address", plan.master_address, source},
                    {"remote_shell", shell, fan_out.shell.source.name}};
  const bool needs_shell = std::any_of(
      hosts.begin(), hosts.end(), [&](const GivenHost& host) { return !is_here(fan_out, host); });
  plan.notices.push_back("starting " + count_of(hosts.size(), "node") +
                         (needs_shell ? " with '" + shell + "'" : " here") + ", leader " +
                         plan.master_address);
  return plan;
}

}  // namespace muster
