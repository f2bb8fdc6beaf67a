#pragma once

// Describes a job request and the launch plan made from it, with the checks and documents of a plan.

#include "base/endpoint.hpp"
#include "base/json_fwd.hpp"
#include "base/ranks.hpp"
#include "base/result.hpp"
#include "environment/accelerators.hpp"
#include "environment/snapshot.hpp"
#include "inputs/rank_table_values.hpp"
#include "modes/mode_template.hpp"
#include "plan/binding.hpp"
#include "platforms/cluster.hpp"
#include "platforms/placement.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Choice of whether the template's arguments follow the program's own.
enum class GiveArguments {
  Auto,  ///< unless the platform describes the tasks in TF_CONFIG, which scripts then read
  Always,
  Never
};

/// Names of log files and places of error files.
enum class LogLayout {
  ByRank,    ///< "attempt_0/worker_3.out", or as the role says; error files as the role says
  Torchrun,  ///< "<run id>_<random>/attempt_0/<local rank>/stdout.log", an error file beside it
  Nothing    ///< torchrun with /dev/null: no log files and no error files
};

/// The words of a command line that are the program, and those that are its arguments.
struct ProgramFiles {
  /// Indexes of the words that are paths: a program, and the script that Python or a shell runs.
  std::vector<std::size_t> words;
  bool imports_from_here = false;  ///< Python's -m and -c search the working directory for modules
  /// Index of the first argument of the program, or of the script that it runs. Empty: it may be an unknown wrapper.
  std::optional<std::size_t> arguments{};
};

/// The user's request, read from the command line.
struct JobRequest {
  std::vector<std::string> program;  ///< argv as executed, python3 included
  std::string script;                ///< file for the interpreter in `program`, if muster added one
  ProgramFiles files;                ///< the words of `program` that are files, as found from muster's directory
  std::string folder;                ///< where the program is started; empty: where muster is
  std::string log_dir;               ///< empty: no log files
  LogLayout log_layout = LogLayout::ByRank;
  GiveArguments template_arguments = GiveArguments::Auto;
  bool fills_arguments = false;   ///< also fills {placeholders} in the program's own arguments
  bool fills_local_rank = false;  ///< fills "${local_rank}" there, as torchrun does
  /// The setting by which the leader serves torch's store, if the mode knows {agent_store}; empty: rank 0 serves it.
  std::optional<Source> hosts_store;
  bool masks_devices = false;                     ///< each worker sees only its own device, as number 0
  std::optional<DeviceChoice> devices;            ///< visible to the workers; empty: the devices visible already
  std::map<std::string, std::string> exported;    ///< variables for the user's program: mpirun's -x
  std::map<std::string, std::string> unless_set;  ///< variables for the user's program that the user has not set
  std::vector<std::string> success_roles;         ///< roles that decide success; empty: as the template says
  std::optional<NodeBinding> binding;             ///< decided for this node; empty: none was requested
  rank_table::GenerateRequest generates;          ///< used where no rank table is supplied
  std::optional<Sourced<rank_table::NetworkFile>> network;  ///< positions of the nodes, which decide the order of ranks
  std::optional<rank_table::RouteRequest> route;            ///< another order of ranks, if all nodes agree on it
};

/// The first attempt, assuming that all nodes take part with the cluster's numbers of slots. A node without a rank is
/// placed as node 0.
Placement assume_placement(const Cluster& cluster);

/// Paths of the files for standard output and standard error. Relative paths are below the log directory that is
/// created where logs are wanted without a named directory, or below muster's own directory.
struct StreamLogs {
  std::string out;
  std::string err;

  /// True when one file takes the lines of both streams.
  bool are_joined() const { return out == err; }
  bool operator==(const StreamLogs&) const = default;
};

/// One worker as it will be executed; only the values of {worker_port} and {run_dir} are left to the start.
struct WorkerPlan {
  std::string role;
  bool decides_success = true;
  GlobalRank global_rank;
  LocalRank local_rank;
  int role_rank = 0;             ///< among the processes of its role
  std::string label;             ///< prefix of its console lines; empty: the global rank
  bool is_unranked = false;      ///< not one of the job's ranks, such as mpirun; messages use only its label
  bool ends_with_ranks = false;  ///< mpirun or its daemon, which exits after the ranks that it started
  bool listens = false;          ///< a port of this node is reserved for it
  std::vector<std::string> argv;
  std::string script;  ///< must be readable before anything starts; empty: argv names no script
  std::map<std::string, std::string> environment;  ///< set by muster, without inherited variables
  std::vector<std::string> unset;                  ///< inherited variables to remove
  std::optional<CpuBinding> binding;               ///< empty: all CPUs of this process
  std::string working_directory;
  bool changes_directory = false;  ///< working_directory is not muster's
  bool makes_directory = false;    ///< creates working_directory if it is missing
  std::string error_file;          ///< where the worker writes its error; empty: the mode has no such file
  std::string own_folder;          ///< made at the start for what it writes about its end; empty: none
  StreamLogs log;                  ///< used if its streams go to files
};

/// A file to write before the workers start.
struct PlannedFile {
  std::string path;
  std::string mode;  ///< octal, such as "0640": exactly these permissions
  std::string content;
  bool is_private = false;  ///< removed when the attempt is over
};

/// Address at which the RAS subsystem of NCCL in a worker listens for questions.
inline constexpr const char* kNcclRasVariable = "NCCL_RAS_ADDR";

/// The processes of this node with their arguments and environment: a plain value, printable without running it.
struct LaunchPlan {
  Cluster cluster;      ///< with at most one node per worker; the plan's own decisions follow those about the nodes
  Placement placement;  ///< of this node in the attempt
  std::string mode;
  int world_size = 1;
  std::vector<PlannedFile> files;
  std::vector<WorkerPlan> workers;    ///< those of this node, by local rank
  StreamLogs chosen_lines;            ///< files for the lines of all workers that hold chosen words
  std::string stacks_file;            ///< where the stacks of a hang are kept, if the job writes files
  std::string on_hang_file;           ///< for the output of --on-hang, likewise
  std::string preflight_file;         ///< for that of --preflight-command, likewise
  std::vector<std::string> notices;   ///< sentences for the user, printed once at start
  Parameters parameters;              ///< of the template, for its services
  std::vector<std::string> services;  ///< run beside the workers of this job
  bool needs_run_folder = false;      ///< a process of the job uses {run_dir}
  bool needs_shared_memory = false;   ///< a process of the job uses {shm_dir}
  bool needs_secret = false;          ///< a process of the job, or `mpi_job`, uses {job_secret}
  bool exchanges_sizes = false;       ///< the nodes exchange their numbers of processes
  std::string mpi_job;                ///< the PMIx namespace; secret, because who knows it may join the job
  bool awaits_table = false;          ///< the workers depend on a rank table that does not exist yet

  bool needs_service(const std::string& name) const { return contains(services, name); }

  /// True inside another launcher's worker: environment and output pass unchanged.
  bool is_transparent = false;
};

/// The input of a plan, except the placement.
struct PlanInput {
  Cluster cluster;
  ChosenMode mode;
  JobRequest job;
  Snapshot snapshot;
  std::optional<rank_table::RankedNode> ranked = {};  ///< empty: ranks follow the placement
  /// This node's part of a rank table that the nodes make together; empty: they make none.
  std::optional<rank_table::Instance> generated = {};
};

/// The accelerators of this node's processes: the rank table's in a job that has one, unknown until it is read.
BoundProcesses processes_to_bind(const PlanInput& input);

/// Fails with `BadUsage` for requests that the mode or this node cannot satisfy: an unknown role that decides
/// success, an unknown placeholder, devices to be shown one by one. Call it before `make_plan`, which relies on it.
[[nodiscard]] Result<> check_job(const PlanInput& input);

/// Fails when a text exceeds the kernel's limit for an argument or a variable, such as a list of 10,000 hosts.
[[nodiscard]] Result<> check_sizes(const LaunchPlan& plan);

/// Fails with `BadData` when two files of the plan have the same path, naming their places in the template.
[[nodiscard]] Result<> check_files(const LaunchPlan& plan, const PlanInput& input);

/// Fails with `BadData` when two processes of this node would write the same log file; `has_files` tells which
/// processes write log files.
[[nodiscard]] Result<> check_logs(const LaunchPlan& plan, const std::function<bool(const WorkerPlan&)>& has_files);

/// Makes the plan. Pure: the same input gives the same plan, so the agents of a job agree on everything that the
/// placement leaves open. Within a role, global ranks are contiguous on a node and follow node rank. If no role of
/// the template decides success, all of them do.
LaunchPlan make_plan(const PlanInput& input, const Placement& placement);

/// Makes the plan for the assumed placement.
LaunchPlan make_plan(const PlanInput& input);

/// True if the plan for the assumed placement, with {worker_port} filled, is also the plan for `placement`: on one
/// node the start usually decides nothing else. Not for a plan with a rank table.
bool is_plan_for(const LaunchPlan& plan, const Placement& placement);

/// The most listening processes that a node may get, whatever its rank and number of nodes (from `least_nodes` up).
int most_listeners(const ModeTemplate& mode, const Cluster& cluster);

/// The plan inside another launcher's worker: exactly one process, with the inherited environment minus muster's own
/// options, which no worker gets.
LaunchPlan make_worker_plan(const JobRequest& job, const Snapshot& snapshot);

/// Fills the placeholders known only at start, such as {worker_port} and {run_dir}, where the template put them.
/// Similar text from the user, a platform, or "{{" and "}}" stays. A text that needs an empty value becomes empty as
/// a whole: without the directory there is no file to name.
void fill_deferred(LaunchPlan& plan, const std::map<std::string, std::string>& values);

/// The document of `muster explain --json`: the decisions, and the values that were found and not used.
json::value to_explanation(const LaunchPlan& plan);

/// `masked_words` of a plan's arguments, because users paste plans into tickets. Valid UTF-8.
std::vector<std::string> masked_arguments(const std::vector<std::string>& argv);

/// The document of `muster plan --json`. Secrets are masked.
json::value to_document(const LaunchPlan& plan);

}  // namespace muster
