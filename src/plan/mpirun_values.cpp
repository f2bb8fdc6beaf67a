// Hosts, slots, networks and ranks of all nodes, once they have met.
#include "plan/mpirun_values.hpp"

#include "mpi/hosts.hpp"

#include <optional>

namespace muster {
namespace {

/// As the nodes have said it; of one node, as it is.
std::vector<NodePorts> known_nodes(const Placement& placement, const Snapshot& snapshot) {
  if (placement.nodes == 1) {
    return {NodePorts{"", {}, placement.slots_total, snapshot.host_name}};
  }
  return placement.ports;
}

/// Nodes of one machine need none: no bridge of it can be in the way.
std::string networks_of(const std::vector<NodePorts>& nodes) {
  std::vector<std::string> addresses;
  addresses.reserve(nodes.size());
  for (const NodePorts& node : nodes) {
    addresses.push_back(node.host);
  }
  return mpi::common_networks(addresses);
}

/// Images for ModelArts name interfaces for the ranks' messages in it: "eth0,bond0".
constexpr const char* kInterfaces = "MY_MPI_BTL_TCP_IF";

mpi::NamedInterfaces wanted_interfaces(const Snapshot& snapshot) {
  return mpi::find_interfaces(snapshot.variable(kInterfaces).value_or(""),
                              snapshot.interfaces.get());
}

/// By what mpirun and its daemons reach each other, and the ranks. `networks`: of all nodes, once they are known.
void add_networks(std::map<std::string, std::string>& values,
                  const std::optional<std::string>& networks,
                  const Placement& placement,
                  const Snapshot& snapshot,
                  const std::map<std::string, std::string>& exported) {
  const auto is_set = [&](const char* name) {
    return snapshot.variable(name).has_value() || exported.contains(name);
  };
  // Open MPI takes none at all where it is told both which to take and which not.
  const bool names_others =
      is_set("OMPI_MCA_oob_tcp_if_exclude") || is_set("PRTE_MCA_prte_if_exclude");
  values["networks"] = names_others ? "" : networks.value_or(mark_deferred("networks"));
  const std::string wanted = placement.nodes > 1 ? wanted_interfaces(snapshot).here : "";
  values["interfaces"] = is_set("OMPI_MCA_btl_tcp_if_exclude") ? ""
                         : !wanted.empty()                     ? wanted
                                           : networks.value_or(mark_deferred("interfaces"));
}

}  // namespace

void add_mpirun_values(std::map<std::string, std::string>& values,
                       const Placement& placement,
                       const Snapshot& snapshot,
                       const std::map<std::string, std::string>& exported,
                       const MpirunWords& words) {
  const std::vector<NodePorts> nodes = known_nodes(placement, snapshot);
  const bool is_known = placement.is_decided || !nodes.empty();
  values["hostfile"] = is_known ? mpi::write_hostfile(nodes) : mark_deferred("hostfile");
  const auto networks = is_known ? std::optional(networks_of(nodes)) : std::nullopt;
  add_networks(values, networks, placement, snapshot, exported);
  // Where mpirun deals the ranks it knows how many are where.
  const bool is_known_here = !words.says_places;
  values["oversubscribed"] =
      is_known_here && placement.slots_here > snapshot.cores.count ? "1" : "";
  values["slots"] = std::to_string(placement.slots_total);
  values["mpirun_processes"] = words.processes.empty() ? values["slots"] : words.processes;
  values["mpirun_mapping"] = words.says_places ? "" : "slot";
}

void remark_interfaces(LaunchPlan& plan,
                       const std::vector<std::string>& texts,
                       const Snapshot& snapshot) {
  if (plan.nodes == 1 || !use_placeholder(texts, "interfaces")) {
    return;
  }
  const auto wanted = wanted_interfaces(snapshot);
  if (!wanted.missing.empty()) {
    plan.notices.push_back(
        std::string(kInterfaces) + " names '" + wanted.missing +
        "', which this host does not have: MPI's messages go by " +
        (wanted.here.empty() ? "the network in which the nodes reach each other" : wanted.here));
  }
}

void add_mpi(LaunchPlan& plan, const std::map<std::string, std::string>& values) {
  if (plan.needs_service(kPmixService)) {
    plan.needs_run_folder = true;
    // libpmix believes who says that he is the job's user: its name has to be a secret.
    plan.mpi_job = fill_placeholders("muster-{job_secret}-{attempt}", values);
  }
}

}  // namespace muster
