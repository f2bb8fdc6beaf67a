#pragma once

// How a platform is asked to start a job: what MA_RUN_METHOD of ModelArts means, and whose pods are msrun's, in
// one place.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"

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
[[nodiscard]] Result<std::optional<Sourced<std::string>>> mode_of_run_method(
    const Snapshot& snapshot);

/// What says that this is one of MindSpore's pods, as the Ascend operator sets them up: all that msrun needs is
/// there. What msrun itself sets for its processes is no sign.
[[nodiscard]] std::optional<Source> find_mindspore_pod(const Snapshot& snapshot);

}  // namespace muster
