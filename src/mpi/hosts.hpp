#pragma once

// The nodes of a job as mpirun is told of them.

#include "base/node_ports.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster::mpi {

/// Names by which MPI tells nodes apart, though two may be one machine: those of a name that an earlier one has
/// get another, and so does a "localhost", which mpirun takes for itself, but for the first.
[[nodiscard]] std::vector<std::string> name_apart(std::vector<std::string> names);
[[nodiscard]] std::vector<std::string> host_names(const std::vector<NodePorts>& nodes);

/// The hosts that mpirun may use: a line for each, its name as it is, and its slots.
[[nodiscard]] std::string write_hostfile(const std::vector<NodePorts>& nodes);

/// Which line of that names the host, counted from 0; -1: none.
[[nodiscard]] int find_in_hostfile(std::string_view hostfile, std::string_view host);

/// The smallest network that has all these addresses, such as "10.0.0.0/22": the form in which Open MPI takes
/// interfaces of several hosts, whatever these call them. Where that would be nearly every network, each
/// address by itself. Empty where one is none of version 4, of which alone Open MPI reads networks.
[[nodiscard]] std::string common_networks(const std::vector<std::string>& addresses);

/// The interfaces of a list such as "eth0,bond0" that are here, and those that are not. Given one that is not, Open
/// MPI goes without TCP.
struct NamedInterfaces {
  std::string here;
  std::string missing;
};
[[nodiscard]] NamedInterfaces find_interfaces(std::string_view names,
                                              const std::vector<std::string>& here);

}  // namespace muster::mpi
