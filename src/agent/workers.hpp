#pragma once

// The worker processes of this node: starts and signals them, knows their pids and times.

#include "agent/standbys.hpp"
#include "base/file_io.hpp"
#include "plan/launch_plan.hpp"
#include "process/descendants.hpp"
#include "process/programs.hpp"
#include "process/reaper.hpp"
#include "process/spawn.hpp"
#include "run/run_options.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// Source of a worker's environment.
struct InheritedEnvironment {
  const std::map<std::string, std::string>& variables;  ///< inherited
  std::string marker;                                   ///< empty: keeps the inherited one
};

/// Streams and terminal of one worker.
struct WorkerStart {
  const std::string& executable;
  int standard_input = -1;     ///< a descriptor of ours
  bool leads_session = false;  ///< as in `SpawnRequest`
  int terminal = -1;           ///< as in `SpawnRequest`
  OutputConnection output;
  /// Takes the ends that we read.
  std::function<Result<>(StreamEnds)> connect;
};

/// The request by which a worker is started, without the descriptors of its output.
SpawnRequest worker_request(const WorkerPlan& planned, const InheritedEnvironment& surroundings,
                            const WorkerStart& how);

class Workers {
 public:
  /// `standbys` may become workers; null: none.
  Workers(const LaunchPlan& plan, const Inherited& inherited, InheritedEnvironment surroundings,
          Standbys* standbys = nullptr);

  /// Starts a worker after `connect` has taken its output, or lets its standby become the worker. Fails as `connect` and
  /// `Spawner::spawn` do.
  [[nodiscard]] Result<> start(std::size_t worker, const WorkerStart& how);

  /// To be called when a worker has been reaped: from now on its pid may be reused.
  void note_end(const Death& death);

  /// Sends a signal to each living worker and its group, or to one worker.
  void signal_all(int signal) const;
  void signal(std::size_t worker, int signal) const;
  /// Ends a worker by SIGABRT, at which Python shows its stacks (faulthandler), without a core file. The stop signal
  /// that follows would end it before that, so it does not get it.
  void abort(std::size_t worker);
  bool is_aborted(std::size_t worker) const { return states_[worker].is_aborted; }
  /// The programs of living workers to which a forwarded signal goes (`informed_programs`).
  std::vector<Process> programs_for(int signal) const;
  /// Programs of living workers that a notice's signal does not end, those that are left to a shell's handler, and the workers
  /// that have neither.
  struct NoticePrograms {
    std::vector<Process> handling;
    std::vector<Process> left;
    std::vector<std::size_t> without;
  };
  NoticePrograms programs_for_notice(int signal) const;
  /// Forwards a signal that is no stop request: to the programs of all workers, but SIGWINCH, SIGCONT and SIGTSTP to
  /// their process groups.
  void pass_on(int signal);
  /// Sends SIGSTOP to workers that lead sessions: SIGTSTP does nothing in orphaned process groups (credentials(7)).
  void hold();
  /// Sends SIGCONT to all workers, whoever stopped them.
  void go_on();
  /// True if we have stopped the worker.
  bool is_held(std::size_t worker) const { return states_[worker].is_held; }
  /// True if a forwarded signal ended the worker.
  bool has_passed_on(const ExitStatus& status) const;

  /// Returns the programs of each worker that must get the stop signal. If the worker has started ranks, these are
  /// the ranks' programs: mpirun would kill them a second later. Workers that ran at `asked_at` have got the signal
  /// already. Without /proc, signals the groups of the workers instead.
  std::vector<std::vector<Process>> begin_stop(int signal,
                                               std::optional<std::chrono::steady_clock::time_point> asked_at);

  /// True if the worker was exiting already when it got the stop signal.
  bool was_exiting(std::size_t worker) const { return states_[worker].was_exiting; }

  Reaper& reaper() { return reaper_; }
  bool is_alive(std::size_t worker) const { return states_[worker].is_alive; }
  pid_t pid(std::size_t worker) const { return states_[worker].pid; }
  /// The living worker with this pid; empty: none.
  std::optional<std::size_t> find(pid_t pid) const;
  /// The living worker that is `pid` or an ancestor of it; else an ended one with that pid; empty: none.
  std::optional<std::size_t> find_ancestor_worker(pid_t pid) const;
  /// Sends a signal, or 0 for none, to a process that is a living worker or descends from one, and to no other.
  /// Returns that worker.
  std::optional<std::size_t> signal_member(pid_t pid, int signal) const;
  /// True if the worker was a standby.
  bool was_standby(std::size_t worker) const { return states_[worker].was_standby; }
  std::chrono::steady_clock::time_point started(std::size_t worker) const { return states_[worker].started; }
  /// When the worker was found dead.
  std::chrono::steady_clock::time_point ended(std::size_t worker) const { return states_[worker].ended; }
  /// Resources used by a worker that failed.
  const ProcessUse& use(std::size_t worker) const { return states_[worker].use; }
  /// The user as whom a worker ended; 0: root, or unknown.
  uid_t user(std::size_t worker) const { return states_[worker].user; }
  double run_time_seconds(std::size_t worker) const;
  std::set<pid_t> living_pids() const;
  /// errno of binding the last worker to memory nodes, equal for all workers; 0: none.
  int memory_refusal() const { return memory_refusal_; }
  /// Why the last worker writes into a pipe and not into a pty.
  const std::optional<Error>& terminal_refusal() const { return terminal_refusal_; }

 private:
  std::pair<std::vector<std::size_t>, std::vector<Process>> living() const;

  using Clock = std::chrono::steady_clock;
  struct State {
    pid_t pid = -1;
    bool is_alive = false;
    bool leads_session = false;
    bool is_held = false;  ///< stopped by us
    bool was_exiting = false;
    bool is_aborted = false;
    bool was_standby = false;
    Clock::time_point started{};
    Clock::time_point ended{};
    ProcessUse use{};
    uid_t user = 0;
  };

  template <typename Is>
  std::optional<std::size_t> find_by(const Is& is_it) const;

  void note_start(std::size_t worker, const WorkerStart& how, pid_t pid, UniqueFd pidfd);

  const LaunchPlan& plan_;
  InheritedEnvironment surroundings_;
  Standbys* standbys_;
  Spawner spawner_;
  Reaper reaper_;
  std::vector<State> states_;
  int memory_refusal_ = 0;
  std::optional<Error> terminal_refusal_;
  std::set<int> passed_on_;
};

// Ranks that mpirun and its daemons have started.

/// The ranks below `starter`, without what they have started themselves.
std::vector<Process> mpirun_ranks(pid_t starter);

/// Orphans of ranks among the descendants of the subreaper `root`: its children that belong to ranks, and their
/// descendants, parents first. Empty while a rank lives, since processes of ranks then have another parent.
std::vector<Process> left_by_ranks(const std::vector<Process>& all, pid_t root, bool (*belongs_to_rank)(pid_t));

/// Orphans of ranks below this process, from /proc. Takes microseconds if there are none.
std::vector<Process> left_by_local_ranks();

}  // namespace muster
