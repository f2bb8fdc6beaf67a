// Hosts, slots and networks of all nodes, once they have met.
#include "mpirun_values.hpp"

#include <muster/mpi/hosts.hpp>

namespace muster {
namespace {

/// As the nodes have said it; of one node, as it is.
std::vector<NodePorts> known_nodes(const Placement& placement, const Snapshot& snapshot) {
  if (placement.nodes == 1) {
    return {NodePorts{"", {}, placement.slots_total, snapshot.host_name}};
  }
  return placement.ports;
}

std::string hostfile_of(const std::vector<NodePorts>& nodes) {
  std::vector<std::string> names;
  for (const NodePorts& node : nodes) {
    names.push_back(node.name);
  }
  names = mpi::name_apart(std::move(names));
  std::vector<mpi::Host> hosts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    hosts.push_back({names[i], nodes[i].slots});
  }
  return mpi::write_hostfile(hosts);
}

/// Nodes of one machine need none: no bridge of it can be in the way.
std::string networks_of(const std::vector<NodePorts>& nodes) {
  std::vector<std::string> addresses;
  for (const NodePorts& node : nodes) {
    addresses.push_back(node.host);
  }
  return mpi::common_networks(addresses);
}

}  // namespace

void add_mpirun_values(std::map<std::string, std::string>& values,
                       const Placement& placement,
                       const Snapshot& snapshot) {
  const std::vector<NodePorts> nodes = known_nodes(placement, snapshot);
  const bool is_known = placement.is_decided || !nodes.empty();
  values["hostfile"] = is_known ? hostfile_of(nodes) : mark_late("hostfile");
  values["networks"] = is_known ? networks_of(nodes) : mark_late("networks");
  values["oversubscribed"] = placement.slots_here > snapshot.cores.count ? "1" : "";
  values["slots"] = std::to_string(placement.slots_total);
}

}  // namespace muster
