#pragma once

// The worker processes of this node: their start, their pids, their times.

#include "agent/run.hpp"
#include "base/file_io.hpp"
#include "plan/launch_plan.hpp"
#include "process/descendants.hpp"
#include "process/reaper.hpp"
#include "process/spawn.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// What a worker's environment is made of.
struct InheritedEnvironment {
  const std::map<std::string, std::string>& variables;  ///< inherited
  std::string marker;                                   ///< empty: leave the inherited one alone
};

/// How one worker is connected to the world.
struct WorkerStart {
  const std::string& executable;
  int standard_input = -1;     ///< a descriptor of ours
  bool leads_session = false;  ///< as in `SpawnRequest`
  int terminal = -1;           ///< likewise
  OutputConnection output;
  /// Takes the ends that we read.
  std::function<Result<>(StreamEnds)> connect;
};

class Workers {
 public:
  Workers(const LaunchPlan& plan, const Inherited& inherited, InheritedEnvironment surroundings);

  /// Starts one worker, once `connect` has taken its output. Fails as that does, and as `Spawner::spawn` does.
  [[nodiscard]] Result<> start(std::size_t worker, const WorkerStart& how);

  /// To be called when the reaper has buried a worker: from here on its pid is nobody's.
  void note_end(const Death& death);

  /// Sends a signal to each worker that is alive and to its group, or to one.
  void signal_all(int signal) const;
  void signal(std::size_t worker, int signal) const;
  /// Sends a signal to each worker alone, not to what it has started.
  void signal_processes(int signal) const;
  /// Sends all a signal that reached us and is no request to end.
  void pass_on(int signal);
  /// Stops those that lead sessions: nobody is there for whom TSTP would (credentials(7), orphaned process groups).
  void hold();
  /// Lets all go on, whoever has stopped them.
  void go_on();
  /// True when we have stopped it.
  [[nodiscard]] bool is_held(std::size_t worker) const { return states_[worker].is_held; }
  /// True when it ended by such a signal.
  [[nodiscard]] bool has_passed_on(const ExitStatus& status) const;

  /// Asks each worker, but of one that has started ranks the ranks: mpirun would kill them a second later. Whoever was
  /// there at a certain moment has been asked already.
  void send_stop_signal(int signal, std::optional<std::chrono::steady_clock::time_point> asked_at);

  /// True when it was past answering right before it was asked to end.
  [[nodiscard]] bool was_exiting(std::size_t worker) const { return states_[worker].was_exiting; }

  [[nodiscard]] Reaper& reaper() { return reaper_; }
  [[nodiscard]] bool is_alive(std::size_t worker) const { return states_[worker].is_alive; }
  [[nodiscard]] pid_t pid(std::size_t worker) const { return states_[worker].pid; }
  /// The living worker with that pid.
  [[nodiscard]] std::optional<std::size_t> find(pid_t pid) const;
  /// The living worker that a process is, or descends from; else the one that it was.
  [[nodiscard]] std::optional<std::size_t> find_above(pid_t pid) const;
  /// Sends a signal, or 0 for none, to a process that is a living worker or descends from one; no other process gets it. Returns
  /// that worker.
  [[nodiscard]] std::optional<std::size_t> signal_member(pid_t pid, int signal) const;
  [[nodiscard]] std::chrono::steady_clock::time_point started(std::size_t worker) const {
    return states_[worker].started;
  }
  /// When it was found dead.
  [[nodiscard]] std::chrono::steady_clock::time_point ended(std::size_t worker) const { return states_[worker].ended; }
  /// What a worker that failed had used.
  [[nodiscard]] const ProcessUse& use(std::size_t worker) const { return states_[worker].use; }
  [[nodiscard]] double run_time_seconds(std::size_t worker) const;
  [[nodiscard]] std::set<pid_t> living_pids() const;
  /// What the system refused to the last worker that was started: the same for each.
  [[nodiscard]] int memory_refusal() const { return memory_refusal_; }
  /// Why the last worker that was started writes into a pipe and not into a terminal.
  [[nodiscard]] const std::optional<Error>& terminal_refusal() const { return terminal_refusal_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct State {
    pid_t pid = -1;
    bool is_alive = false;
    bool leads_session = false;
    bool is_held = false;  ///< by us
    bool was_exiting = false;
    Clock::time_point started{};
    Clock::time_point ended{};
    ProcessUse use{};
  };

  template <typename Is>
  [[nodiscard]] std::optional<std::size_t> find_by(const Is& is_it) const;
  [[nodiscard]] std::vector<std::string> environment_of(const WorkerPlan& worker) const;

  const LaunchPlan& plan_;
  InheritedEnvironment surroundings_;
  Spawner spawner_;
  Reaper reaper_;
  std::vector<State> states_;
  int memory_refusal_ = 0;
  std::optional<Error> terminal_refusal_;
  std::set<int> passed_on_;
};

// The ranks that mpirun and its daemons have started.

/// Sends a signal to each rank that descends from `starter`, and to its group. False: there is none.
bool signal_mpirun_ranks(pid_t starter, int signal);

/// What ranks have left behind among the descendants of `root`, who adopts orphans: its children that belong to ranks, and what
/// descends from them, parents first. None while a rank lives: then a process that belongs to one has another parent.
[[nodiscard]] std::vector<Process> left_by_ranks(const std::vector<Process>& all, pid_t root,
                                                 const std::function<bool(pid_t)>& belongs_to_rank);

/// The same of this process, as /proc shows it. A look of microseconds where no orphan of a rank is here.
[[nodiscard]] std::vector<Process> left_by_local_ranks();

}  // namespace muster
