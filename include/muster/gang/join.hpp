#pragma once

// How an agent introduces itself to its leader.

#include <muster/base/ranks.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

/// Raised when a message changes in a way that an older agent would misread.
inline constexpr int kProtocol = 1;

/// The first message on a link: who wants to join which job.
struct Join {
  int protocol = kProtocol;
  std::string version;                ///< of the program, for messages
  std::string job_id;                 ///< must be the leader's
  std::string incarnation;            ///< 16 hexadecimal digits, new for each start of an agent
  std::optional<NodeRank> node_rank;  ///< empty: the leader assigns one
  int least_nodes = 1;                ///< with most_nodes: must be the leader's
  int most_nodes = 1;
  std::string mode;                  ///< must be the leader's
  int slots = 1;                     ///< workers that this node can start
  std::string host;                  ///< name, for messages
  double waited_seconds = 0;         ///< since the agent was started
  double grace_seconds = 30;         ///< that its workers have to end
  std::vector<std::uint16_t> ports;  ///< reserved on this node for workers that listen
  /// Workers with which the job is complete, on however many nodes; 0: nodes are counted. Must be
  /// the leader's.
  int total_slots = 0;
};

/// The most ports that one node may have reserved.
inline constexpr std::size_t kMostPortsOfNode = 4'096;

/// A name (of a job, a mode, a host) as the other end reads it: valid UTF-8, short, one line.
[[nodiscard]] std::string as_sent(const std::string& name);

}  // namespace muster::gang
