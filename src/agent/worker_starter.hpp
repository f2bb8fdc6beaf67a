#pragma once

// Starts the workers of an attempt, one in each turn of the loop. Private to run/.

#include "agent/error_files.hpp"
#include "output/worker_streams.hpp"
#include "process/terminal.hpp"
#include "process/workers.hpp"
#include "agent/programs.hpp"

#include "base/unique_fd.hpp"
#include "plan/launch_plan.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>

namespace muster {

/// The worker that has standard input for itself, and with it the terminal: the one that was chosen, else a single one. The chosen
/// one may be missing: as another node this one may have fewer workers than were expected.
[[nodiscard]] std::optional<std::size_t> reader_of_input(const LaunchPlan& plan,
                                                         const RunOptions& options);

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
