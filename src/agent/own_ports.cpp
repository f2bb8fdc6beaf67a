// What a node tells of its ports, and reads of the others'.
#include "agent/own_ports.hpp"

#include "exchange/exchanged_ports.hpp"

namespace muster {
namespace {

Result<std::vector<WorkerPort>> reserve_ports(int count) {
  if (count > static_cast<int>(kMostPortsOfNode)) {
    return Error{ErrorKind::System,
                 "cannot reserve " + std::to_string(count) +
                     " ports for the workers: a node has at most " +
                     std::to_string(kMostPortsOfNode)};
  }
  return WorkerPort::reserve_several(count);
}

}  // namespace

PortExchange::PortExchange(const JobPlan& job)
    : job_(job), reserved_(reserve_ports(job.ports_to_reserve)) {}

Result<std::string> PortExchange::contribution(const std::string& host) const {
  if (!reserved_) {
    return reserved_.error();
  }
  const bool are_wanted = !reserved_->empty() || job_.may_need(&LaunchPlan::tells_nodes);
  return are_wanted ? write_ports(ports_of_node(*reserved_, job_.gang.policy.node.slots, host))
                    : std::string();
}

std::vector<NodePorts> PortExchange::of_all(const gang::Exchanged& merged) {
  const auto ports = merged.find(ports_key().name);
  return ports == merged.end() ? std::vector<NodePorts>()
                               : read_ports(ports->second).value();  // written by the same program
}

}  // namespace muster
