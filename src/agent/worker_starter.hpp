#pragma once

// Starts the workers of an attempt one by one: finds their programs, checks the limit of file descriptors.

#include "agent/attempt_parts.hpp"
#include "agent/worker_files.hpp"
#include "agent/workers.hpp"
#include "base/file_io.hpp"
#include "base/result.hpp"
#include "output/worker_streams.hpp"
#include "plan/launch_plan.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"
#include "process/timers.hpp"
#include "run/run_context.hpp"
#include "services/service.hpp"
#include "supervise/end_hints.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// The programs of the workers.

/// Finds programs before the first worker starts. In a job of several nodes a helper process does so, since PATH, a
/// program, a script or a directory may be on a file system that hangs, or that needs a minute because a thousand
/// nodes use it: an agent that blocks is taken for dead. The helper's reads fill the page cache: execve does not block.
class Programs {
 public:
  /// The plan and the variables, among them PATH, outlive it.
  Programs(boost::asio::io_context& io, HelperProcesses& helpers, const LaunchPlan& plan,
           const std::map<std::string, std::string>& variables);

  /// True: all programs are known at once, as in a job of one node, which starts faster so. Otherwise calls `then`
  /// once when they are, without a timeout; logs a warning every ten seconds.
  bool find(std::function<void()> then);
  /// After this, `then` is not called.
  void cancel();

  /// The worker's executable; its script is readable and its own working directory has been made. Fails as
  /// `find_executable` and `check_script` do, or with `System`. To be called when the programs are known.
  const Result<std::string>& of(std::size_t worker) const { return found_[worker]; }

 private:
  void log_slow_search();

  const LaunchPlan& plan_;
  std::string search_path_;
  HelperTask helper_task_;
  DelayedCall slow_search_timer_;
  std::chrono::steady_clock::time_point began_;
  std::vector<Result<std::string>> found_;  ///< by worker
};

// The limit of file descriptors.

/// Fails if the limit is too low for the whole job: a job started in part would hold devices in vain.
[[nodiscard]] Result<> check_descriptors(const JobPlan& job);

/// Limits of a leader's links. What the job needs, now or for another attempt, is reserved beforehand.
struct LinkCapacity {
  std::size_t nodes = 0;      ///< links to nodes of the job and spares: at least as many as the job needs
  std::size_t strangers = 0;  ///< links to peers that do not belong to the job, or not yet
};
LinkCapacity room_for_links(const JobPlan& job);

/// The worker that could not be started, and why.
struct StartFailure {
  std::size_t worker = 0;
  Error error;
};

/// The steps before the first worker: starts services, finds programs, opens log files, makes room for error files.
class StartPreparation {
 public:
  /// The references outlive it.
  StartPreparation(const AttemptInput& input, LaunchPlan& plan, WorkerStreams& streams, Services& services);

  /// Begins the steps before the start, once. True: they are done. Otherwise calls `then` when they are; never if a service fails.
  bool begin(const std::function<void()>& then);
  void cancel();

  const Programs& programs() const { return programs_; }
  ErrorFiles& error_files() { return error_files_; }
  const ErrorFiles& error_files() const { return error_files_; }
  /// Counted before the first worker; no file: unreadable.
  std::uint64_t oom_kills_before() const { return oom_kills_before_; }

 private:
  LaunchPlan& plan_;
  WorkerStreams& streams_;
  Services& services_;
  Programs programs_;
  ErrorFiles error_files_;
  std::uint64_t oom_kills_before_;
  DelayedCall ready_timer_;
  int pending_steps_ = 0;
};

/// Starts one worker in each turn of the loop: signals and deaths must not wait for the last of a thousand.
class WorkerStarter {
 public:
  /// The references outlive it.
  WorkerStarter(const AttemptInput& input, const LaunchPlan& plan, Workers& workers, WorkerStreams& streams,
                StartPreparation& preparation);

  std::function<void(std::size_t worker)> on_started;
  /// No worker is started after it.
  std::function<void(const StartFailure&)> on_failure;

  /// Prepares, then starts the workers.
  void start();
  /// Starts no further worker. Returns the first one that will not start; empty: none, or already reported.
  std::optional<std::size_t> cancel();

  /// Number of workers that were tried.
  std::size_t tried() const { return next_; }
  const std::optional<StartFailure>& failure() const { return failure_; }
  /// The worker that alone reads standard input, and the terminal that it gets.
  std::optional<std::size_t> reader() const { return reader_; }
  Terminal& terminal() { return terminal_; }

 private:
  void start_next();
  void turn();
  [[nodiscard]] Result<> start_one(std::size_t worker);

  boost::asio::io_context& io_;
  const RunOptions& options_;
  const LaunchPlan& plan_;
  Workers& workers_;
  WorkerStreams& streams_;
  StartPreparation& preparation_;
  std::optional<std::size_t> reader_;
  Terminal terminal_;
  UniqueFd null_input_;
  std::size_t next_ = 0;
  bool is_cancelled_ = false;
  std::optional<StartFailure> failure_;
};

}  // namespace muster
