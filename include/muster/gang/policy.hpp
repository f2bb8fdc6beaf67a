#pragma once

// What leader and agents go by: known before they meet.

#include <muster/gang/join.hpp>
#include <muster/gang/options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

/// What the leader goes by. The same for the whole job.
struct Policy {
  std::string job_id;
  std::string mode;
  int least_nodes = 1;
  int most_nodes = 1;
  std::chrono::milliseconds grace{30'000};  ///< of the leader's own workers; others may have more
  std::vector<std::optional<std::string>> hosts;  ///< by node rank, where the platform names them
  GangOptions options;
  /// The gang is complete with so many workers, on nodes 0 to k-1 for any k up to `most_nodes`; then
  /// `least_nodes` is 1. Empty: nodes are counted.
  std::optional<int> total_slots;
};

/// What an agent goes by.
struct ParticipantPolicy {
  Join join;               ///< `incarnation` and `waited_seconds` are filled at each dial
  std::uint64_t seed = 0;  ///< of this agent: spreads the dials of thousands of agents
  std::string leader;      ///< "host:port", for messages
  std::chrono::milliseconds timeout{900'000};
  std::chrono::milliseconds heartbeat_timeout{8'000};  ///< until the leader tells its own
};

}  // namespace muster::gang
