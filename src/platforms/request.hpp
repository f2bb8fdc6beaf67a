#pragma once

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace muster {

/// "4", or "2:4": so many nodes at least and at most.
struct NodeRange {
  int least = 1;
  int most = 1;
};

/// How the command line that is read spells the options that a message may ask for, and all of it.
struct OptionNames {
  std::string nodes = "--nnodes";
  std::string node_rank = "--node-rank";
  std::string master_address = "--master-addr";
  std::string command = "muster ...";
};

/// What the user says about the nodes, read and checked. Empty: nothing.
struct ClusterRequest {
  std::optional<Sourced<std::string>> platform;
  std::optional<Sourced<NodeRange>> nodes;
  std::optional<Sourced<int>> node_rank;
  std::optional<Sourced<std::string>> slots;  ///< a number, auto, gpu, npu or cpu
  std::optional<Sourced<int>> workers;        ///< of the whole job
  std::optional<Sourced<std::string>> master_address;
  std::optional<Sourced<int>> master_port;
  std::optional<Sourced<int>> gang_port;
  std::optional<Sourced<int>> worker_port;
  std::optional<Sourced<std::string>> job_id;
  std::optional<Sourced<std::string>> roles;  ///< "chief=1,worker=2"; the mode says which there are
  std::optional<Sourced<int>> max_restarts;
  std::optional<std::chrono::milliseconds> grace;
  OptionNames names;
};

/// The one reader of these settings. Fails for a value that is none, naming its source.
[[nodiscard]] Result<ClusterRequest> read_cluster_request(const Settings& settings);

/// How often all workers may be started again: as the user says, else torchrun's PET_MAX_RESTARTS,
/// which is honoured on every platform, else 0.
[[nodiscard]] Result<Sourced<int>> read_max_restarts(const Snapshot& snapshot,
                                                     const Settings& settings);

}  // namespace muster
