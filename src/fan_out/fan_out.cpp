// From a list of hosts to a remote shell for each, and to what each agent is told. Pure.
#include <muster/base/text.hpp>
#include <muster/fan_out/fan_out.hpp>

#include <algorithm>

namespace muster {
namespace {

std::string leader_of(const FanOut& fan_out) {
  const auto given = fan_out.order.line.settings.find("master-addr");
  return given ? given->value : fan_out.hosts.value.front().host;
}

WorkerPlan plan_shell(const FanOut& fan_out, std::size_t node) {
  const GivenHost& host = fan_out.hosts.value[node];
  WorkerPlan shell;
  shell.role = "node";
  shell.global_rank = GlobalRank{static_cast<int>(node)};
  shell.local_rank = LocalRank{static_cast<int>(node)};
  shell.role_rank = static_cast<int>(node);
  shell.label = host.host;
  shell.argv = command_line_of(fan_out.shell, host.login, fan_out.command);
  shell.working_directory = fan_out.order.working_directory;
  return shell;
}

}  // namespace

Order order_of(const FanOut& fan_out, std::size_t node) {
  Order order = fan_out.order;
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
    set("master-addr", hosts.front().host);
  }
  if (hosts[node].slots && !order.line.settings.has("nproc-per-node")) {
    set("nproc-per-node", std::to_string(*hosts[node].slots));
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
  plan.world_size = plan.nodes;
  plan.master_address = leader_of(fan_out);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    plan.hosts.emplace_back(hosts[i].host);
    plan.slots.push_back(hosts[i].slots.value_or(0));
    plan.workers.push_back(plan_shell(fan_out, i));
  }
  const std::string& source = fan_out.hosts.source.name;
  const std::string shell = join(fan_out.shell.words, " ");
  plan.decisions = {{"platform", plan.platform, source},
                    {"nodes.count", std::to_string(plan.nodes), source},
                    {"rendezvous.address", plan.master_address, source},
                    {"remote_shell", shell, fan_out.shell.source.name}};
  plan.remarks.push_back("starting " + count_of(hosts.size(), "node") + " with '" + shell +
                         "', leader " + plan.master_address);
  return plan;
}

}  // namespace muster
