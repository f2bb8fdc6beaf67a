#pragma once

// What an agent goes by, whether it leads or not: known before the nodes meet.

#include "platforms/facts.hpp"
#include "gang/exchange_values.hpp"
#include "gang/options.hpp"
#include "gang/net/token.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

struct GangConfig {
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
  int earlier_runs = 0;      ///< of the job, as this node knows; the leader's count
  std::string last_verdict;  ///< of the last of them; empty: nobody knows
  std::uint64_t seed = 0;    ///< of this agent: spreads the dials of thousands of agents
};

/// How an agent takes part in its job.
struct GangSetup {
  Lead lead = Lead::Always;
  std::shared_ptr<const GangKey> key;  ///< empty: links are not encrypted
  GangConfig policy;
  std::size_t most_strangers =
      64;  ///< links that a leader keeps with those who do not belong to the job
};

}  // namespace muster::gang
