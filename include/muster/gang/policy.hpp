#pragma once

// What an agent goes by, whether it leads or not: known before the nodes meet.

#include <muster/cluster/facts.hpp>
#include <muster/gang/exchange.hpp>
#include <muster/gang/options.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

struct Policy {
  JobFacts job;    ///< must be the same on all nodes
  NodeFacts node;  ///< this one
  GangOptions options;
  std::string version;    ///< of the program, for messages
  std::string host;       ///< where the gang meets: name or address
  std::string host_from;  ///< who says so, for messages
  std::uint16_t port = 0;
  std::vector<std::optional<std::string>> hosts;  ///< by node rank, where the platform names them
  ExchangeKeys keys;      ///< under which nodes contribute; the same on all nodes
  std::string waits_for;  ///< inputs of this node that are not here yet; empty: it is ready
  /// Of a leader, to other nodes and to spares: so many as it has descriptors for.
  std::size_t most_links = std::numeric_limits<std::size_t>::max();
  std::uint64_t seed = 0;  ///< of this agent: spreads the dials of thousands of agents
};

}  // namespace muster::gang
