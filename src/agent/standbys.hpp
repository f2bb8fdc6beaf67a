#pragma once

// Standbys: for each worker of this node that Python runs, a process that has done the worker's imports and becomes the worker at
// a restart (docs/standby.md). Private to src/agent.

#include "agent/import_files.hpp"
#include "agent/shutdown.hpp"
#include "agent/standby_process.hpp"
#include "plan/launch_plan.hpp"
#include "process/timer.hpp"
#include "run/run_context.hpp"
#include "standby/standby_rules.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// Makes standbys, one after the other, while an attempt runs. They are no workers: no attempt waits for them, and their end is never
/// a failure. They die with the agent, as workers do.
class Standbys {
 public:
  /// The references outlive it.
  Standbys(boost::asio::io_context& io, HelperProcesses& helpers, const RunContext& run, PendingWork& pending);

  bool are_wanted() const { return run_.options.standby.modules.has_value(); }

  /// A worker of the first attempt, as far as it is known before that.
  struct Expected {
    std::size_t worker = 0;
    int rank = 0;
    SpawnRequest request;
    OutputConnection output;
  };
  /// Makes standbys for those whose imports an earlier job has kept, one after the other, until the first attempt begins.
  /// `workers`: of the plan.
  void begin_wait(std::size_t workers, std::vector<Expected> expected);
  /// To be called before the workers of the plan start.
  void begin_attempt(const LaunchPlan& plan);
  /// Lets the worker's standby become the worker that is asked for, if it is ready and fits. Empty: the worker has to be started.
  std::optional<StartedStandby> take(std::size_t worker, const SpawnRequest& request, const OutputConnection& output);
  /// The request of a worker that is started, with what makes it note its imports if that is needed.
  SpawnRequest noting_imports(std::size_t worker, SpawnRequest request);
  void note_start(std::size_t worker, pid_t pid);
  /// A worker has written its first line.
  void note_first_line();
  /// The attempt ends: no standby is made before the next one.
  void end_attempt();
  /// Kills all standbys, because the job ends. They are pending work until they are gone.
  void end();

  /// The standbys that have neither become workers nor ended.
  std::set<pid_t> pids() const;
  /// The number of standbys that are ready.
  std::size_t ready() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Descriptor = boost::asio::posix::stream_descriptor;

  struct Worker {
    int rank = 0;
    std::optional<standby::PythonProgram> program;
    std::optional<SpawnRequest> request{};  ///< by which it was started in this attempt, or is expected to be
    OutputConnection output{};
    pid_t pid = -1;
    UniqueFd notes{};  ///< of its imports
    std::unique_ptr<StandbyProcess> standby{};
    std::string why_none{};  ///< why there was none when the attempt began
  };
  /// The standby that is being made. First, a probe of the same Python, without the program, has to show that this
  /// Python imports our file: otherwise the standby would run the program.
  struct StandbyInProgress {
    std::size_t worker = 0;
    std::unique_ptr<StandbyProcess> probe;  ///< empty: it has answered
    Descriptor answers;
    std::string answer{};
    std::array<char, 512> buffer{};
    unsigned long cpu_ticks = 0;  ///< when it was last looked at
    Clock::time_point began = Clock::now();
  };
  /// Notes how the workers of an attempt started, for the message about the time that standbys saved.
  struct Gain {
    int attempt = 0;
    Clock::time_point began{};
    std::size_t taken = 0;
    std::map<std::string, std::vector<int>> cold{};   ///< ranks that did not start from a standby, by the reason
    std::vector<std::pair<int, UniqueFd>> sockets{};  ///< of standbys that were to become workers, with their ranks
    int looks = 0;                                    ///< times that the sockets were looked at
    std::string first_line{};  ///< ", first line after 12 s", a part of what is said; empty: no rank has written one
    bool is_told = false;
  };

  bool is_open(const Worker& worker) const;
  void take_kept(const std::vector<std::string>& words, const standby::Imports& imports);
  void make_next();
  void make_later(Clock::duration delay);
  void learn_now(Worker& worker);
  [[nodiscard]] Result<> learn(const Worker& worker);
  [[nodiscard]] Result<> make(std::size_t worker, bool is_probe);
  StandbyProcess& process_in(StandbyInProgress& making);
  const Worker* find_noting(const std::vector<std::string>& words) const;
  std::pair<pid_t, standby::Imports> notes_about(const standby::PythonProgram& program) const;
  bool is_done_with_imports(const Worker& worker) const;
  void read_answer();
  void take_answer(const std::string& answer);
  /// Ends the making of a standby: it is ready, or `why_not` says why it will not be.
  void end_making(std::size_t index, const std::string& why_not);
  void check_progress();
  void check_memory();
  /// No standby of the program will be made any more.
  void refuse(Worker& worker, const std::string& why);
  void watch(const StandbyProcess& standby);
  void drop(Worker& worker);
  void drop_all();
  void tell_gain_soon();
  bool take_answers();
  void tell_gain();

  boost::asio::io_context& io_;
  const RunContext& run_;
  PendingWork& pending_;
  Spawner spawner_;
  std::vector<Worker> workers_;
  std::map<pid_t, Descriptor> living_;                            ///< pidfds of all that have not become workers
  std::map<std::vector<std::string>, standby::Imports> imports_;  ///< by the program's words
  std::set<std::vector<std::string>> refused_;                    ///< programs that get no standby any more
  ImportFiles files_;
  std::optional<StandbyInProgress> making_;
  Timer make_timer_;
  Timer progress_timer_;
  Timer memory_timer_;
  Timer tell_timer_;
  std::uint64_t size_;       ///< of the largest standby, in bytes
  bool is_waiting_ = false;  ///< no attempt has begun
  bool may_restart_ = false;
  bool has_told_ready_ = false;
  bool has_ended_ = false;  ///< the job
  Gain gain_;
  std::optional<std::pair<int, double>> last_cold_;  ///< an attempt without standbys, and seconds to its first line
};

}  // namespace muster
