#pragma once

// How a platform is asked to start a job: what MA_RUN_METHOD of ModelArts means, and whose pods are msrun's, in
// one place.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace muster {

/// One way to start a job, and the variables that hold its options; nullptr: it has none for that.
struct RunMethod {
  const char* mode;  ///< which template starts the workers, and the word for it
  const char* master_address;
  const char* master_port;
  int usual_port;       ///< of several nodes; then `master_port` is not read for one node. 0: any
  const char* workers;  ///< of the whole job
  const char* log_dir;
  const char* cluster_time_out;  ///< seconds until all processes must have met
  const char* more_options;      ///< of that launcher's command line
};

/// The one that is asked for; nullptr where there is none, or a word that is none of them.
[[nodiscard]] const RunMethod* find_run_method(const Snapshot& snapshot);

/// The mode that it asks for; empty where nothing is asked for. Fails for a word that is none.
[[nodiscard]] Result<std::optional<Sourced<std::string>>> mode_of_run_method(const Snapshot& snapshot);

/// What says that this is one of MindSpore's pods, as the Ascend operator sets them up: all that msrun needs is
/// there. What msrun itself sets for its processes is no sign.
[[nodiscard]] std::optional<Source> find_mindspore_pod(const Snapshot& snapshot);

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
[[nodiscard]] Result<Sourced<int>> read_max_restarts(const Snapshot& snapshot, const Settings& settings);

}  // namespace muster
