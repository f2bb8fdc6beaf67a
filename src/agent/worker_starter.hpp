#pragma once

// Starts the workers of an attempt, one in each turn of the loop.

#include "agent/run.hpp"
#include "agent/worker_files.hpp"
#include "base/file_io.hpp"
#include "base/result.hpp"
#include "output/worker_streams.hpp"
#include "plan/launch_plan.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"
#include "process/timers.hpp"
#include "process/workers.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// What the workers execute, looked for before the first of them is started.

/// Where other nodes count on this one a process of its own looks, since PATH, a program, a script and a folder may lie on a file
/// system that hangs, or that needs a minute because a thousand nodes ask it: an agent that waits for it hears nobody, and is
/// taken for dead. What was looked at is in the kernel's memory afterwards, so executing it waits no more.
class Programs {
 public:
  /// The plan and the variables, of which PATH is one, outlive it.
  Programs(boost::asio::io_context& io, HelperProcesses& helpers, const LaunchPlan& plan,
           const std::map<std::string, std::string>& variables);

  /// True: it is known of each worker at once, as in a job of one node, which is in a hurry. Else calls `then` once when it is, however
  /// long that takes: after ten seconds it says so.
  [[nodiscard]] bool find(std::function<void()> then);
  /// `then` is not called any more.
  void cancel();

  /// The file that the worker executes; its script can be read, and the folder that it has for itself has been made. Fails as
  /// `find_executable` and `check_script` do, or with `System`. To be called when they are known.
  [[nodiscard]] const Result<std::string>& of(std::size_t worker) const { return found_[worker]; }

 private:
  void log_slow_search();

  const LaunchPlan& plan_;
  std::string search_path_;
  HelperTask helper_task_;
  DelayedCall slow_search_timer_;
  std::chrono::steady_clock::time_point began_;
  std::vector<Result<std::string>> found_;  ///< by worker
};

// What a job needs of the limit of file descriptors, and what is left for strangers.

/// Fails when the limit cannot hold the whole job: half of one would hold devices for nothing.
[[nodiscard]] Result<> check_descriptors(const JobPlan& job);

/// How many links a leader may keep. What the job needs, now or for another attempt, is in neither number.
struct LinkCapacity {
  std::size_t nodes = 0;      ///< with nodes of the job and spares: as many as it needs, at least
  std::size_t strangers = 0;  ///< with those who do not belong to the job
};
[[nodiscard]] LinkCapacity room_for_links(const JobPlan& job);

/// The worker that has standard input for itself, and with it the terminal: the one that was chosen, else a single one. The chosen
/// one may be missing: as another node this one may have fewer workers than were expected.
[[nodiscard]] std::optional<std::size_t> reader_of_input(const LaunchPlan& plan, const RunOptions& options);

/// Why there is a worker that does not run.
struct StartFailure {
  std::size_t worker = 0;
  Error error;
};

/// What the starter joins; everything outlives it.
struct StarterParts {
  const LaunchPlan& plan;
  const Programs& programs;
  Workers& workers;
  WorkerStreams& streams;
  const ErrorFiles& error_files;
  const Terminal& terminal;
  const RunOptions& options;
};

/// With a thousand workers, a signal or a death in between must not wait for the last one.
class WorkerStarter {
 public:
  WorkerStarter(boost::asio::io_context& io, const StarterParts& parts);

  /// Before the first worker: how many things are waited for. Each calls `go_on` later, or none is started.
  std::function<int()> before_first;
  std::function<void(std::size_t worker)> on_started;
  /// Nobody is started after it.
  std::function<void(const StartFailure&)> on_failure;

  void start();
  /// One thing that `before_first` waited for is there.
  void go_on();
  /// Starts nobody any more. The first one who will not be; empty if there is none or it is known.
  [[nodiscard]] std::optional<std::size_t> cancel();

  /// How many have been tried.
  [[nodiscard]] std::size_t tried() const { return next_; }
  [[nodiscard]] const std::optional<StartFailure>& failure() const { return failure_; }

 private:
  void turn();
  [[nodiscard]] Result<> start_one(std::size_t worker);

  boost::asio::io_context& io_;
  StarterParts parts_;
  std::optional<std::size_t> reader_;  ///< who has standard input for itself
  UniqueFd null_input_;
  std::size_t next_ = 0;
  bool is_cancelled_ = false;
  std::optional<int> awaited_;  ///< things; empty: nobody has asked yet
  std::optional<StartFailure> failure_;
};

}  // namespace muster
