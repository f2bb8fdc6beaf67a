#pragma once

// The ports that nodes have reserved for workers that listen, brought together by the exchange.

#include "base/node_ports.hpp"
#include "base/result.hpp"
#include "gang/exchange_values.hpp"
#include "services/worker_port.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The most ports that a node may reserve.
inline constexpr std::size_t kMostPortsOfNode = 4'096;

/// The key "ports": what `write_ports` has written on each node becomes what `read_ports` reads on
/// all of them.
[[nodiscard]] gang::ExchangeKey ports_key();

/// What a node has reserved for workers that listen. `name`: its host's.
[[nodiscard]] NodePorts ports_of_node(const std::vector<WorkerPort>& reserved,
                                      int slots,
                                      const std::string& name);

/// What a node contributes: its ports and its slots. The host is filled on the leader.
[[nodiscard]] std::string write_ports(const NodePorts& node);

/// The ports of all nodes by node rank. Fails with `BadData`.
[[nodiscard]] Result<std::vector<NodePorts>> read_ports(std::string_view merged);

}  // namespace muster
