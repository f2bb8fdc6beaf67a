#pragma once

// A folder for the time of the run: the workers' error files.

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

/// What became of one worker of this node.
struct WorkerResult {
  std::string role;
  GlobalRank global_rank;
  LocalRank local_rank;
  WorkerOutcome outcome = WorkerOutcome::NeverStarted;
  pid_t pid = -1;                    ///< -1: never started
  std::optional<ExitStatus> status;  ///< empty: never started, or it could not be killed
  double run_time_seconds = 0;
  std::string label;         ///< what it is called beside its rank, such as "ps 1"; usually empty
  bool is_unranked = false;  ///< none of the job's ranks, as mpirun: called by its label alone
};

/// What happened, for the report: the end of the job, and what this node had to do with it.
struct Outcome {
  JobEnd end;
  int nodes = 1;
  NodeRank node_rank;
  bool has_place = false;  ///< some attempt was started here; else nobody knows which ranks it has
  std::string host_name;
  std::vector<WorkerResult> workers;  ///< of this node, in the last attempt
  double run_time_seconds = 0;
  /// That the first failure may have written; empty: it is none of this node's.
  std::string error_file{};
  /// On the leader whose store the ranks meet by: from the start of the last attempt until all had called
  /// init_process_group.
  std::optional<double> init_seconds{};
  bool rank_zero_hosts_store =
      false;  ///< workers are told MASTER_PORT, as PyTorch's are, and nobody else serves them there
  std::vector<std::string> notices;  ///< sentences such as what a log file lacks
  std::set<int> reported_attempts;   ///< why they ended was said here when they did
  bool is_told_elsewhere = false;    ///< by the front of the job, or its first node
};

enum class When {
  Auto,
  Always,
  Never
};

/// Whether lines of workers on a console begin with a prefix.
enum class PrefixWhen {
  Auto,        ///< unless the job has exactly one worker
  OnTerminal,  ///< likewise, and only where the stream is a terminal
  Always,
  Never
};

/// Who inherits standard input; the others read nothing.
enum class InputFor {
  SingleWorker,  ///< nobody where there are several
  ChosenWorker,
  All,  ///< they share it
  Nobody
};

/// The front that has started this agent on its host.
struct LauncherInfo {
  int fd = -1;            ///< where it speaks to us
  std::string nonce;      ///< by which it knows our words
  std::string host;       ///< how it calls this one
  bool is_first = false;  ///< who speaks for all nodes
  Terminals terminals;    ///< where it shows what we write
};

/// What this node's agent does for HAI, which tells its first node alone that the job is to give way.
struct HaiTask {
  std::string manager;       ///< the host of the task's manager; empty: nobody knows its name
  bool is_training = false;  ///< only such a task is suspended and started again
};

/// Whose metadata server is asked for notices.
enum class Cloud {
  Aws,
  Gcp,
  Azure
};

/// How the job gives way after a notice (docs/control.md).
struct SuspendOptions {
  std::optional<int> signal;    ///< that is a notice and no request to end; empty: none
  std::optional<int> tells_by;  ///< by which the workers are told besides by the file
  /// When the allocation ends, as its platform says.
  std::optional<std::chrono::system_clock::time_point> allocation_end;
  std::optional<std::chrono::milliseconds> before_end;  ///< a notice comes so long before that
  std::optional<HaiTask> hai;                           ///< empty: HAI is not the platform, or another node looks
  std::optional<Cloud> watched;                         ///< empty: no cloud is asked

  /// What the end of the allocation leaves for saving; empty: nobody knows when it ends.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_left() const;
};

/// How to run a plan; nothing here changes what the workers see.
struct RunOptions {
  std::chrono::milliseconds grace{30'000};         ///< between asking to end and KILL
  StopSignals stop_signals;                        ///< that ask the job to end
  std::chrono::milliseconds console_stall{5'000};  ///< a console that takes no byte for so long
  Selection selection;                             ///< what goes to the console and to files
  std::string log_dir;                             ///< empty, and files are wanted: a temporary one
  LineFilter duplicate_out;                        ///< lines that also go to the node's filtered_stdout.log
  LineFilter duplicate_err;
  PrefixWhen prefix = PrefixWhen::Auto;
  PrefixTemplate prefix_template;  ///< empty: the rank
  When colour = When::Auto;        ///< Auto: on a terminal, unless NO_COLOR is set
  When terminals = When::Auto;     ///< what workers write into; Auto: where it is shown on one
  InputFor input_for = InputFor::SingleWorker;
  LocalRank input_rank{};  ///< who is chosen
  SuspendOptions suspend;
  std::string state_folder;  ///< of the job, over all of its runs; empty: nobody asked for one
  std::string host_name;
  std::optional<LauncherInfo> launcher;  ///< empty: somebody else has started us

  /// True when something is written to files.
  [[nodiscard]] bool needs_files() const {
    return selection.needs_files() || !duplicate_out.is_empty() || !duplicate_err.is_empty();
  }
};

/// How ranks of MPI start where the way before does not work on all nodes.
struct MpiStartMethod {
  ChosenMode mode;
  LaunchPlan plan;  ///< as far as it is known before the nodes have met
};

/// The part of a job that this node has.
struct JobPlan {
  LaunchPlan plan;                 ///< as far as it is known before the nodes have met
  std::optional<PlanInput> input;  ///< what it was made from; empty: nothing is left to decide
  gang::GangSetup gang;
  std::vector<Input> inputs;  ///< without which nothing is started
  /// For processes of this node that listen, whatever rank it gets and however many nodes there are.
  int ports_to_reserve = 0;
  std::vector<MpiStartMethod> others = {};  ///< what the nodes may agree on instead

  /// The plan of one attempt, with what the gang and a rank table have decided. `way`: 0, or one of the others,
  /// counted from 1.
  [[nodiscard]] LaunchPlan of_attempt(const Placement& placement, std::optional<rank_table::RankedNode> ranked,
                                      std::size_t way) const;
  /// True where the plan of one of the ways has it set, such as `&LaunchPlan::needs_secret`.
  [[nodiscard]] bool may_need(bool LaunchPlan::*what) const;
  /// Fixed by the user; empty: a fresh one each time.
  [[nodiscard]] std::optional<std::uint16_t> worker_port() const {
    return input ? input->cluster.worker_port : std::nullopt;
  }
};

/// What is done once in the agent, when every process has ended and all output has been read.
struct ExitReport {
  /// Writes the report; empty: none is wanted. Called in a process of its own, since its file system may
  /// hang: of our descriptors that has `stream` alone.
  std::function<Result<>(const Outcome&)> write_report;
  std::optional<int> stream;  ///< where the report goes, if that is not named by a path of its own
  /// What it says is written to the console as the last lines, and what it returns is written to standard
  /// output behind those of the workers. `report` says whether there is one.
  std::function<std::string(const Outcome&, const Result<>& report)> say;
};

/// Runs the workers of this node to their end, and ends the process with the exit code of the program; it returns only
/// where the job could not be begun. Splits the process into guard and agent (docs/processes.md).
///
/// `variables` is the inherited environment.
[[nodiscard]] Result<int> run(const JobPlan& job, const RunOptions& options, const Inherited& inherited,
                              const std::map<std::string, std::string>& variables, const ExitReport& exit_report);

/// Standard output and standard error of this program.
[[nodiscard]] Terminals find_terminals();

/// The terminal can show text, and nothing else: TERM=dumb.
[[nodiscard]] bool is_dumb(const std::map<std::string, std::string>& variables);

/// Whether a stream of this program may be coloured.
[[nodiscard]] bool may_colour(int fd, When colour, const std::map<std::string, std::string>& variables);

/// A private folder with what is in it.
class RunFolder {
 public:
  RunFolder() = default;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() = default;

  /// In shared memory, where nothing waits for a disk. False where there is none, or no place.
  bool make_in_memory();
  /// Below $TMPDIR or /tmp, whose file system may hang.
  Result<> make_below(const std::string& temporary_folder);
  /// Empty when there is none.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The one who is the last to need it has to; a file system that hangs is not waited for.
  void remove();

 private:
  std::string path_;
  bool is_in_memory_ = false;
};

/// Where the folder in shared memory is gone, it is made again: a login that ends may have the shared memory of its user cleared
/// (logind.conf(5), RemoveIPC), while a job that it left behind goes on.
void make_again(const std::string& folder);

/// A new private folder "<temporary_folder>/<name>_XXXXXX". An error says why it cannot be had.
[[nodiscard]] Result<std::string> make_temporary_folder(const std::string& temporary_folder, const std::string& name);

}  // namespace muster
