#pragma once

// Runs a job's workers on this node: options of a run, its outcome and its temporary directory.

#include "base/ranks.hpp"
#include "base/result.hpp"
#include "gang/gang_config.hpp"
#include "inputs/input_files.hpp"
#include "output/selection.hpp"
#include "plan/launch_plan.hpp"
#include "process/inherited.hpp"
#include "remote/remote_agents.hpp"
#include "supervise/exit_status.hpp"
#include "supervise/supervisor.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// The result of one worker of this node.
struct WorkerResult {
  std::string role;
  GlobalRank global_rank;
  LocalRank local_rank;
  WorkerOutcome outcome = WorkerOutcome::NeverStarted;
  pid_t pid = -1;                    ///< -1: never started
  std::optional<ExitStatus> status;  ///< empty: never started, or it could not be killed
  double run_time_seconds = 0;
  std::string label;         ///< further name, such as "ps 1"; usually empty
  bool is_unranked = false;  ///< not a rank of the job, such as mpirun; named by its label alone
};

/// The end of the job and this node's part in it, for the report.
struct Outcome {
  JobEnd end;
  int nodes = 1;
  NodeRank node_rank;
  bool has_place = false;  ///< an attempt was started here; otherwise the ranks are unknown
  std::string host_name;
  std::vector<WorkerResult> workers;  ///< of this node, in the last attempt
  double run_time_seconds = 0;
  /// Error file of the first failure; empty: it was on another node, or wrote none.
  std::string error_file{};
  /// Seconds from the start of the last attempt until all ranks had called init_process_group; only on the leader,
  /// and where its store is used.
  std::optional<double> init_seconds{};
  bool rank_zero_hosts_store = false;  ///< workers get MASTER_PORT, as PyTorch's do, and muster does not serve it
  std::vector<std::string> notices;    ///< sentences, such as lines lost in a log file
  std::set<int> reported_attempts;     ///< attempts whose reason to end was logged here when they ended
  std::string hang{};                  ///< what was last seen of a hang, as JSON; empty: nothing, or it was none
  bool is_printed_elsewhere = false;   ///< the remote launcher or the first node prints the reason
};

enum class When {
  Auto,
  Always,
  Never
};

/// When workers' lines on a console get a prefix.
enum class PrefixWhen {
  Auto,        ///< if the job has more than one worker
  OnTerminal,  ///< as Auto, but only on a terminal
  Always,
  Never
};

/// The workers that inherit standard input; others read /dev/null.
enum class InputFor {
  SingleWorker,  ///< none, where there are several workers
  ChosenWorker,
  All,  ///< shared
  None
};

/// Connection to the remote launcher that started this agent on its host.
struct LauncherInfo {
  int fd = -1;            ///< the launcher's orders arrive here
  std::string nonce;      ///< marks our control lines for the launcher
  std::string host;       ///< the launcher's name for this host
  bool is_first = false;  ///< this agent prints what concerns all nodes
  Terminals terminals;    ///< terminals of the launcher, where our output is shown
};

/// Task of this node for HAI, which announces a suspension to the job's first node alone.
struct HaiTask {
  std::string manager;       ///< host name of the task's manager; empty: unknown
  bool is_training = false;  ///< only training tasks are suspended and restarted
};

/// The cloud whose metadata server is polled for notices.
enum class Cloud {
  Aws,
  Gcp,
  Azure
};

/// Suspension of the job after a notice (docs/control.md).
struct SuspendOptions {
  std::optional<int> signal;         ///< a notice and not a stop request; empty: none
  std::optional<int> worker_signal;  ///< sent to the workers in addition to the notice file
  /// End of the allocation, as the platform says; empty: unknown.
  std::optional<std::chrono::system_clock::time_point> allocation_end;
  std::optional<std::chrono::milliseconds> before_end;  ///< a notice is given this long before the allocation ends
  std::optional<HaiTask> hai;                           ///< empty: not on HAI, or another node polls it
  std::optional<Cloud> watched;                         ///< empty: no cloud is polled

  /// Time until the allocation ends, less a margin for the exit; empty: the end is unknown.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_left() const;
};

/// Times after which something is done about a job that is quiet (docs/hangs.md).
struct HangOptions {
  std::chrono::milliseconds report{60'000};  ///< it is reported; 0: never
  std::chrono::milliseconds timeout{0};      ///< its attempt ends if it hangs; 0: never
  /// A worker fails that is in one uninterruptible system call for so long; 0: never.
  std::chrono::milliseconds call{0};
  std::string command;  ///< run when it is reported; empty: none
};

/// Options of a run; none of them changes what workers see.
struct RunOptions {
  std::chrono::milliseconds grace{30'000};         ///< between stop signal and SIGKILL
  StopSignals stop_signals;                        ///< signals that ask the job to end
  std::chrono::milliseconds console_stall{5'000};  ///< a console that accepts no byte for this long is stalled
  Selection selection;                             ///< output shown on the console and written to files
  std::optional<Sourced<std::string>> events;      ///< file for the transitions of this node
  std::optional<Sourced<std::string>> trace;       ///< the same as a trace
  std::optional<Sourced<std::string>> metrics;     ///< address or file for the metrics of this node
  std::string log_dir;                             ///< empty, and files are wanted: a temporary directory
  LineFilter duplicate_out;                        ///< lines that also go to the node's filtered_stdout.log
  LineFilter duplicate_err;
  PrefixWhen prefix = PrefixWhen::Auto;
  PrefixTemplate prefix_template;  ///< empty: the rank
  When colour = When::Auto;        ///< Auto: on a terminal, unless NO_COLOR is set
  When terminals = When::Auto;     ///< whether workers write into ptys; Auto: where the output is shown on a terminal
  InputFor input_for = InputFor::SingleWorker;
  LocalRank input_rank{};  ///< for ChosenWorker
  SuspendOptions suspend;
  HangOptions hangs;
  std::string state_folder;  ///< of the job, kept between its runs; empty: not wanted
  std::string host_name;
  std::optional<LauncherInfo> launcher;  ///< empty: not started by a remote launcher

  /// True when something is written to files.
  [[nodiscard]] bool needs_files() const {
    return selection.needs_files() || !duplicate_out.is_empty() || !duplicate_err.is_empty();
  }
};

/// A fallback for starting MPI ranks, used where those before it do not work on all nodes.
struct MpiStartMethod {
  ChosenMode mode;
  LaunchPlan plan;  ///< as far as known before the nodes have met
};

/// This node's part of a job.
struct JobPlan {
  LaunchPlan plan;                 ///< as far as known before the nodes have met
  std::optional<PlanInput> input;  ///< input of the plan; empty: nothing is left to decide
  gang::GangSetup gang;
  std::vector<Input> inputs;  ///< files that must exist before the start
  /// Ports for listening processes of this node, enough for any rank and any number of nodes.
  int ports_to_reserve = 0;
  std::vector<MpiStartMethod> others = {};  ///< fallbacks that the nodes may agree on

  /// True if the plan of any start method sets this member, such as `&LaunchPlan::needs_secret`.
  [[nodiscard]] bool may_need(bool LaunchPlan::*what) const;
};

/// Final steps of the agent, after every process has ended and all output has been read.
struct ExitReport {
  /// Writes the report; empty: none is wanted. Runs in a helper process, because its file system may hang; of our
  /// descriptors that has `stream` alone.
  std::function<Result<>(const Outcome&)> write_report;
  std::optional<int> stream;  ///< descriptor of the report, if it has no path
  /// Logs the last lines of the job and returns text for standard output, written behind the workers' output.
  /// `report`: result of writing the report.
  std::function<std::string(const Outcome&, const Result<>& report)> say;
};

/// The job and its surroundings on this node, for all parts of the agent. Everything outlives the agent.
struct RunContext {
  const JobPlan& job;
  const RunOptions& options;
  const Inherited& inherited;
  const std::map<std::string, std::string>& variables;
  const ExitReport& exit_report;
  const std::string& marker;
  const std::string& log_folder;     ///< prefix of the plan's log paths; empty: they are complete
  const std::string& run_folder;     ///< empty: none
  const std::string& shared_folder;  ///< in shared memory; where there is none, equal to `run_folder`
};

/// Runs this node's workers to their end, then ends the process with the program's exit code; returns only if the job
/// could not begin. Splits the process into guard and agent (docs/processes.md). `variables`: the inherited
/// environment.
[[nodiscard]] Result<int> run(const JobPlan& job, const RunOptions& options, const Inherited& inherited,
                              const std::map<std::string, std::string>& variables, const ExitReport& exit_report);

/// Checks before the start that the files of --events, --trace and --metrics can be written. Fails with the option's
/// name.
[[nodiscard]] Result<> check_record(const RunOptions& options);

/// Reports whether our standard output and standard error are terminals.
[[nodiscard]] Terminals find_terminals();

/// True for TERM=dumb: the terminal shows text only.
[[nodiscard]] bool is_dumb(const std::map<std::string, std::string>& variables);

/// True if text on `fd`, a stream of ours, may be coloured.
[[nodiscard]] bool may_colour(int fd, When colour, const std::map<std::string, std::string>& variables);

/// A private directory and its content.
class RunFolder {
 public:
  RunFolder() = default;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() = default;

  /// Creates it in shared memory, where no disk can block. False: no shared memory, or it is full.
  bool make_in_memory();
  /// Creates it below `temporary_folder`, whose file system may hang (limited to 1 s).
  Result<> make_below(const std::string& temporary_folder);
  /// Empty: no directory.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// To be called by its last user; gives up after 200 ms if the file system hangs.
  void remove();

 private:
  std::string path_;
  bool is_in_memory_ = false;
};

/// Creates the directory in shared memory again if it is gone: at logout the user's shared memory may be cleared
/// (logind.conf(5), RemoveIPC) while a job left in the background goes on.
void make_again(const std::string& folder);

/// Creates a private directory "<temporary_folder>/<name>_XXXXXX". The error names the reason.
[[nodiscard]] Result<std::string> make_temporary_folder(const std::string& temporary_folder, const std::string& name);

}  // namespace muster
