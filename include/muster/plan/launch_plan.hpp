#pragma once

#include <muster/base/json.hpp>
#include <muster/base/ranks.hpp>
#include <muster/base/result.hpp>
#include <muster/cluster/cluster.hpp>
#include <muster/environment/snapshot.hpp>
#include <muster/mode/mode_template.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// What the user wants to run, after the command line has been read.
struct JobRequest {
  std::vector<std::string> program;  ///< argv as it will be executed, python3 included
  std::string script;   ///< what an interpreter in `program` is to read, if one was added
  std::string log_dir;  ///< empty: no log files
};

/// One worker as it will be executed: nothing is left to decide at start time but the values of
/// {worker_port} and {run_dir}, which the system gives.
struct WorkerPlan {
  std::string role;
  bool decides_success = true;
  GlobalRank global_rank;
  LocalRank local_rank;
  std::vector<std::string> argv;
  std::string script;  ///< must be readable before anything starts; empty: argv names no script
  std::size_t template_arguments = 0;  ///< so many at the end of argv come from the template
  std::map<std::string, std::string> environment;  ///< what muster sets, not what is inherited
  std::vector<std::string> unset;                  ///< inherited variables that are removed
  std::string working_directory;
  std::string error_file;  ///< where it writes why it failed; empty: the mode knows no such file
  std::string
      log;  ///< path without ".out" and ".err"; relative to the log directory if it has none
};

/// A file to write before the workers start.
struct PlannedFile {
  std::string path;
  std::string mode;  ///< octal, such as "0640"
  std::string content;
};

/// Who runs where with what: a plain value, printable without running it.
struct LaunchPlan {
  std::string platform;
  std::string mode;
  int nodes = 1;
  NodeRank node_rank;
  std::vector<std::optional<std::string>> hosts;
  std::vector<int> slots;
  std::string master_address;
  std::optional<std::uint16_t> master_port;  ///< empty: {worker_port} is chosen at start
  int world_size = 1;
  std::vector<Decision> decisions;
  std::vector<PlannedFile> files;
  std::vector<WorkerPlan> workers;   ///< those of this node, by local rank
  std::vector<std::string> remarks;  ///< sentences that the user should read once at start
  /// True inside another launcher's worker: environment and output pass as they are.
  bool is_transparent = false;
};

/// Decides who runs where. Pure: the same input gives the same plan, so the agents of a job agree
/// without talking to each other. Within a role, global ranks are
/// contiguous on a node and follow node rank.
[[nodiscard]] LaunchPlan make_plan(const Cluster& cluster,
                                   const ChosenMode& chosen,
                                   const JobRequest& job,
                                   const Snapshot& snapshot);

/// The plan inside another launcher's worker: exactly one process, environment unchanged but for
/// muster's own options, which never reach a worker.
[[nodiscard]] LaunchPlan make_worker_plan(const JobRequest& job, const Snapshot& snapshot);

/// Fills what only the system knows, {worker_port} and {run_dir}, wherever the template put it. Text
/// that came from the user is left alone, whatever it looks like. A text that needs a value which is
/// empty becomes empty as a whole: without the folder there is no file to name.
void fill_late_values(LaunchPlan& plan, const std::map<std::string, std::string>& values);

/// True when some text of the template waits for this late value.
[[nodiscard]] bool needs_late_value(const LaunchPlan& plan, const std::string& name);

/// The plan as the document that `muster plan --json` promises. Secrets are masked.
[[nodiscard]] json::value to_document(const LaunchPlan& plan);

/// The text with each "{name}" of `values` replaced; "{{" and "}}" become braces. Placeholders
/// that `values` lacks stay as they are.
[[nodiscard]] std::string fill_placeholders(std::string_view text,
                                            const std::map<std::string, std::string>& values);

}  // namespace muster
