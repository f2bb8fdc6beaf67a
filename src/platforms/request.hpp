#pragma once

// Reads what the user asks for about the nodes, and how a platform is asked to start the job: MA_RUN_METHOD of
// ModelArts, and MindSpore's pods.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// One way to start a job, and the variables with its options; nullptr: there is no such variable.
struct RunMethod {
  const char* mode;  ///< template that starts the workers; also the method's name
  const char* master_address = nullptr;
  const char* master_port = nullptr;
  int usual_port = 0;  ///< default for several nodes; with it, `master_port` is not read for one node. 0: no default
  const char* workers = nullptr;  ///< of the whole job
  const char* log_dir = nullptr;
  const char* cluster_time_out = nullptr;  ///< seconds until all processes must have met
  const char* more_options = nullptr;      ///< for that launcher's command line
};

/// The requested method; nullptr: none, or an unknown one.
const RunMethod* find_run_method(const Snapshot& snapshot);

/// The mode of the requested method; empty: none is requested. Fails for an unknown method.
[[nodiscard]] Result<std::optional<Sourced<std::string>>> mode_of_run_method(const Snapshot& snapshot);

/// The sign of a MindSpore pod as the Ascend operator sets it up, with all variables that msrun needs. Variables that
/// msrun sets for its own processes are no sign.
std::optional<Source> find_mindspore_pod(const Snapshot& snapshot);

/// "4", or "2:4": the minimum and maximum number of nodes.
struct NodeRange {
  int least = 1;
  int most = 1;
};

/// Setting with the hosts of all nodes by rank, "a,b", from a line that lists them: they name nodes that do not come.
inline constexpr const char* kHostsOfNodes = "hosts-of-nodes";

/// The spellings, in the launcher whose command line is read, of the options that messages name.
struct OptionNames {
  std::string nodes = "--nnodes";
  std::string node_rank = "--node-rank";
  std::string master_address = "--master-addr";
  std::string command = "muster ...";
};

/// The user's values about the nodes, checked. Empty: not given.
struct ClusterRequest {
  std::optional<Sourced<std::string>> platform;
  std::optional<Sourced<NodeRange>> nodes;
  std::optional<Sourced<int>> node_rank;
  std::optional<Sourced<std::vector<std::string>>> hosts;  ///< by node rank
  std::optional<Sourced<std::string>> slots;               ///< a number, auto, gpu, npu or cpu
  std::optional<Sourced<int>> workers;                     ///< of the whole job
  std::optional<Sourced<std::string>> master_address;
  std::optional<Sourced<int>> master_port;
  std::optional<Sourced<int>> gang_port;
  std::optional<Sourced<int>> worker_port;
  std::optional<Sourced<std::string>> job_id;
  std::optional<Sourced<std::string>> roles;  ///< "chief=1,worker=2"; the mode defines the roles
  std::optional<Sourced<int>> max_restarts;
  std::optional<std::chrono::milliseconds> grace;
  OptionNames names;
};

/// Reads these settings. Fails for an invalid value, naming its source.
[[nodiscard]] Result<ClusterRequest> read_cluster_request(const Settings& settings);

/// The number of restarts of all workers: the user's, else torchrun's PET_MAX_RESTARTS, which is honoured on every
/// platform, else 0.
[[nodiscard]] Result<Sourced<int>> read_max_restarts(const Snapshot& snapshot, const Settings& settings);

}  // namespace muster
