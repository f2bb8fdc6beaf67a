#pragma once

// What workers write about their own failure.

#include "agent/attempt_listener.hpp"
#include "base/result.hpp"
#include "plan/launch_plan.hpp"
#include "process/helper_process.hpp"
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

/// The error files of one attempt. Their file system may hang: an errand makes their folders, removes the old ones and reads the
/// new ones, and where it does not answer the attempt goes on without them.
class ErrorFiles {
 public:
  /// The plan outlives it. `run_folder` was made for this run; empty: there is none.
  ErrorFiles(boost::asio::io_context& io, HelperProcesses& helpers, const LaunchPlan& plan, std::string run_folder)
      : helper_task_(io, helpers), io_(io), plan_(plan), run_folder_(std::move(run_folder)) {}

  /// To be called before the first start: what a worker of an older attempt, or of an older run where the
  /// file is not in the run folder, wrote must not be taken for the word of a new one; and their folder is there.
  /// True: all is done. False: calls `then` once, in a later turn of the loop.
  [[nodiscard]] bool prepare(std::function<void()> then);
  /// Fails with `System` where that folder could not be made: nobody is to be started.
  [[nodiscard]] const Result<>& prepared() const { return prepared_; }
  /// Reads those of `workers`, who are dead. Calls `then` once, in a later turn of the loop.
  void read(const std::vector<std::size_t>& workers, std::function<void()> then);
  /// What it wrote, in one sentence. Empty: nothing, or it has not been read.
  [[nodiscard]] std::string message(std::size_t worker) const;

 private:
  [[nodiscard]] bool is_in_run_folder(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> unmade_places() const;
  [[nodiscard]] std::string make_room(const std::vector<std::string>& paths) const;
  void give_up();
  void keep(const std::vector<std::size_t>& workers, const std::string& answer);

  HelperTask helper_task_;
  boost::asio::io_context& io_;
  const LaunchPlan& plan_;
  std::string run_folder_;
  Result<> prepared_;
  bool has_given_up_ = false;  ///< a file that could not be removed may be there still
  std::map<std::size_t, std::string> messages_;
};

// What ranks of mpirun leave behind while it runs.

/// mpirun waits for everybody who has the output of a rank open, also when no rank is left: for ever, if a rank has started a
/// server. What other workers leave behind is ended when they all have ended on a node; here it is when mpirun's ranks have.
class RankOrphans : public AttemptListener {
 public:
  /// What is left after `grace` is killed.
  RankOrphans(boost::asio::io_context& io, const LaunchPlan& plan, const Workers& workers,
              std::chrono::milliseconds grace);

  /// The ranks of this node have ended, and their starter has not: to be asked to end. At each look again.
  std::function<void(const std::vector<Process>& left)> on_left;

  /// A worker has been started: one that starts ranks is looked at until it ends.
  void on_started(std::size_t worker) override;
  void cancel() { timer_.cancel(); }

 private:
  void look();
  [[nodiscard]] bool is_a_starter_alive() const;

  const LaunchPlan& plan_;
  const Workers& workers_;
  DelayedCall timer_;
  std::chrono::milliseconds grace_;
  std::optional<std::chrono::steady_clock::time_point> seen_;  ///< since when something is left
};

// What `--progress-file` looks like.

/// Size, time and number of a file. They change when somebody writes; a file that is not there looks alike
/// each time.
[[nodiscard]] std::string look_at_file(const std::string& path);

/// Finds out whether a file has changed from one attempt to the next.
class RankTableProgress {
 public:
  /// Without a path nothing is watched.
  RankTableProgress(boost::asio::io_context& io, HelperProcesses& helpers, std::string path)
      : helper_task_(io, helpers), path_(std::move(path)) {}

  /// Looks for the first time.
  void start();
  /// Calls `then` with whether the file has changed since the last look. Empty: nothing is watched, or the
  /// file system does not answer.
  void look(const std::function<void(std::optional<bool>)>& then);

 private:
  void read_in_helper(std::function<void(HelperTask::Answer)> then);

  HelperTask helper_task_;
  std::string path_;
  HelperTask::Answer last_;
};

}  // namespace muster
