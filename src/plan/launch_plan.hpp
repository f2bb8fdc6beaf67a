#pragma once

#include "base/endpoint.hpp"
#include "base/json_fwd.hpp"
#include "base/ranks.hpp"
#include "base/result.hpp"
#include "compat/nested_launcher.hpp"
#include "environment/accelerators.hpp"
#include "environment/snapshot.hpp"
#include "modes/mode_template.hpp"
#include "plan/binding.hpp"
#include "plan/placement.hpp"
#include "platforms/cluster.hpp"
#include "rank_table/generate.hpp"
#include "rank_table/local_instance.hpp"
#include "rank_table/route_plan.hpp"
#include "rank_table/topology.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Whether the processes get the template's arguments behind the program's own.
enum class GiveArguments {
  Auto,  ///< unless the platform describes the tasks in TF_CONFIG, which scripts then read
  Always,
  Never
};

/// How log files are named, and where error files lie.
enum class LogLayout {
  ByRank,    ///< "attempt_0/worker_3.out", or as the role says; error files as the role says
  Torchrun,  ///< "<run id>_<random>/attempt_0/<local rank>/stdout.log", an error file beside it
  Nothing    ///< likewise for /dev/null: no file, no error file either
};

/// What the user wants to run, after the command line has been read.
struct JobRequest {
  std::vector<std::string> program;  ///< argv as it will be executed, python3 included
  std::string script;                ///< what an interpreter in `program` is to read, if one was added
  ProgramFiles files;                ///< what `program` needs of the folder where muster is started
  std::string folder;                ///< where the program is started; empty: where muster is
  std::string log_dir;               ///< empty: no log files
  LogLayout log_layout = LogLayout::ByRank;
  GiveArguments template_arguments = GiveArguments::Auto;
  bool fills_arguments = false;   ///< {placeholders} in the program's own arguments, too
  bool fills_local_rank = false;  ///< "${local_rank}" there, as torchrun does
  /// Who wants the leader to serve the store of torch, where the mode knows {agent_store}; empty: rank 0 does.
  std::optional<Source> hosts_store;
  bool masks_devices = false;                               ///< each worker sees its own device alone, as number 0
  std::optional<DeviceChoice> devices;                      ///< what the workers see; empty: what is visible already
  std::map<std::string, std::string> exported;              ///< variables for the user's program: mpirun's -x
  std::vector<std::string> success_roles;                   ///< who decides success; empty: as the template says
  std::optional<NodeBinding> binding;                       ///< decided for this node; empty: nobody asked for any
  rank_table::GenerateRequest generates;                    ///< where nobody writes a rank table
  std::optional<Sourced<rank_table::NetworkFile>> network;  ///< by which ranks are given anew
  std::optional<rank_table::RouteRequest> route;            ///< ranks that all nodes may agree on
};

/// The first attempt as it would be if all nodes came and had as many slots as the cluster says. A
/// node without a rank is placed as if it were node 0.
[[nodiscard]] Placement assume_placement(const Cluster& cluster);

/// Files for standard output and standard error. Paths; relative ones lie in the folder that is made where log files are wanted
/// and none was named, or muster's own.
struct StreamLogs {
  std::string out;
  std::string err;

  /// One file takes the lines of both.
  [[nodiscard]] bool are_joined() const { return out == err; }
  bool operator==(const StreamLogs&) const = default;
};

/// One worker as it will be executed: nothing is left to decide at start time but the values of
/// {worker_port} and {run_dir}, which the system gives.
struct WorkerPlan {
  std::string role;
  bool decides_success = true;
  GlobalRank global_rank;
  LocalRank local_rank;
  int role_rank = 0;         ///< among the processes of its role
  std::string label;         ///< what its lines on the console begin with; empty: the global rank
  bool is_unranked = false;  ///< none of the job's ranks, as mpirun: called by its label alone
  bool listens = false;      ///< a port of this node is reserved for it
  std::vector<std::string> argv;
  std::string script;  ///< must be readable before anything starts; empty: argv names no script
  std::map<std::string, std::string> environment;  ///< what muster sets, not what is inherited
  std::vector<std::string> unset;                  ///< inherited variables that are removed
  std::optional<CpuBinding> binding;               ///< empty: all that this process may use
  std::string working_directory;
  bool changes_directory = false;  ///< to another folder than muster's
  bool makes_directory = false;    ///< if it is missing
  std::string error_file;          ///< where it writes why it failed; empty: the mode knows no such file
  StreamLogs log;                  ///< where its streams go if they go to files
};

/// A file to write before the workers start.
struct PlannedFile {
  std::string path;
  std::string mode;  ///< octal, such as "0640": exactly these permissions
  std::string content;
  bool is_private = false;  ///< removed when the attempt is over
};

/// Who runs where with what: a plain value, printable without running it.
struct LaunchPlan {
  std::string platform;
  std::string mode;
  int attempt = 0;
  int nodes = 1;
  int least_nodes = 1;
  NodeRank node_rank;
  bool has_node_rank = true;                      ///< false: nobody gave it, it goes by arrival
  std::optional<HostShare> share;                 ///< the node is one process of this host
  std::vector<std::optional<std::string>> hosts;  ///< one for each node that may take part
  std::vector<int> slots;                         ///< likewise, as far as they are known or assumed
  std::string master_address;
  std::optional<std::uint16_t> master_port;  ///< the rendezvous; empty: one node needs none
  std::uint16_t gang_port = 0;               ///< where the agents meet; 0 for one node
  int world_size = 1;
  std::vector<Decision> decisions;
  std::vector<UnusedValue> lost;  ///< what else was seen, and why it was not used
  std::vector<PlannedFile> files;
  std::vector<WorkerPlan> workers;        ///< those of this node, by local rank
  StreamLogs chosen_lines;                ///< files of lines that hold chosen words, of all workers
  std::vector<std::string> notices;       ///< sentences that the user should read once at start
  Parameters parameters;                  ///< of the template, for its services
  std::vector<std::string> services;      ///< what runs beside the workers of this job
  bool needs_run_folder = false;          ///< some process of the job is told {run_dir}
  bool needs_shared_memory = false;       ///< the same for {shm_dir}
  bool needs_secret = false;              ///< the same for {job_secret}, which is in `mpi_job` too
  bool tells_nodes = false;               ///< the nodes tell each other how many processes each has
  std::vector<NodePorts> notified_nodes;  ///< by rank, as they have told each other; empty: not told
  std::string mpi_job;                    ///< the namespace of MPI's ranks, which all nodes know, and nobody else
  bool awaits_table = false;              ///< a rank table that is not here yet says which workers there are

  [[nodiscard]] bool needs_service(const std::string& name) const {
    return std::find(services.begin(), services.end(), name) != services.end();
  }

  /// True inside another launcher's worker: environment and output pass as they are.
  bool is_transparent = false;
};

/// All that a plan is made from but for the placement.
struct PlanInput {
  Cluster cluster;
  ChosenMode mode;
  JobRequest job;
  Snapshot snapshot;
  std::optional<rank_table::RankedNode> ranked = {};  ///< empty: ranks follow the placement
  /// What this node has of a rank table that all nodes make; empty: they make none.
  std::optional<rank_table::Instance> generated = {};
};

/// Which instance of the table this node is. Fails with `BadData` when none is, and when what the user or
/// the platform says about the nodes and their workers is not what the table has.
[[nodiscard]] Result<std::size_t> find_local_instance(const PlanInput& input, const rank_table::TableFile& file);

/// True where the nodes make a rank table: that was asked for, or the mode needs one, none is named, and the
/// addresses of this node's devices are known.
[[nodiscard]] bool makes_table(const ChosenMode& chosen, const rank_table::GenerateRequest& request);
/// Takes this node's part of it. Fails when its devices or their addresses are not known, and when the mode
/// has no use for a table.
[[nodiscard]] Result<> make_local_part(PlanInput& input);
/// The same once all nodes have said what they have: `text` is the table.
[[nodiscard]] rank_table::RankedNode part_of_made_table(const rank_table::Instance& own, const Placement& placement,
                                                        std::string text);
/// The devices that this node has of the instance, which several nodes may share, by rank.
[[nodiscard]] std::vector<rank_table::Device> local_devices(const PlanInput& input, const rank_table::TableFile& file,
                                                            std::size_t instance, const std::vector<int>& ranks = {});

/// Takes ranks and devices of this node from the table, and what nobody else has said.
[[nodiscard]] Result<> apply_table(PlanInput& input, rank_table::TableFile file);

/// Which accelerators the processes of this node have: those of the rank table in a job that has one. Before
/// that is here nobody knows which.
[[nodiscard]] BoundProcesses processes_to_bind(const PlanInput& input);

/// Fails with `BadUsage` when the job asks for what the mode or this node does not have: a role that
/// decides success, a placeholder that is none, devices to be shown one by one. Called before a plan
/// is made, which takes it as given.
[[nodiscard]] Result<> check_job(const PlanInput& input);

/// Fails when a text is longer than the system passes to a process, such as the list of 10,000 hosts.
[[nodiscard]] Result<> check_sizes(const LaunchPlan& plan);

/// Fails with `BadData` when two files of the plan have the same path, which the template of `input` says.
[[nodiscard]] Result<> check_files(const LaunchPlan& plan, const PlanInput& input);

/// Fails with `BadData` when two processes of this node would write one log file, of those that write
/// any, which `has_files` knows.
[[nodiscard]] Result<> check_logs(const LaunchPlan& plan, const std::function<bool(const WorkerPlan&)>& has_files);

/// Decides who runs where. Pure: the same input gives the same plan, so the agents of a job agree
/// on all that the placement does not say. Within a role, global ranks are contiguous on a node and
/// follow node rank. If no role of the template decides success, all of them do.
[[nodiscard]] LaunchPlan make_plan(const PlanInput& input, const Placement& placement);

/// The same for the assumed placement.
[[nodiscard]] LaunchPlan make_plan(const PlanInput& input);

/// How many processes that listen a node may get, whatever its rank and however many nodes take part
/// (but not fewer than the least).
[[nodiscard]] int most_listeners(const ModeTemplate& mode, const Cluster& cluster);

/// The plan inside another launcher's worker: exactly one process, environment unchanged but for
/// muster's own options, which never reach a worker.
[[nodiscard]] LaunchPlan make_worker_plan(const JobRequest& job, const Snapshot& snapshot);

/// Fills what only the system knows, {worker_port} and {run_dir}, wherever the template put it. Text
/// that only looks like it, from the user, from a platform or from "{{" and "}}", is left alone. A
/// text that needs a value which is empty becomes empty as a whole: without the folder there is no
/// file to name.
void fill_deferred(LaunchPlan& plan, const std::map<std::string, std::string>& values);

/// What was decided, and what was seen and not used, as `muster explain --json` promises it.
[[nodiscard]] json::value to_explanation(const LaunchPlan& plan);

/// The plan as the document that `muster plan --json` promises. Secrets are masked.
[[nodiscard]] json::value to_document(const LaunchPlan& plan);

}  // namespace muster
