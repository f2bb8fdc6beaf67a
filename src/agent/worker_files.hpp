#pragma once

// Files that workers write: error files and the progress file.

#include "base/result.hpp"
#include "base/text.hpp"
#include "plan/launch_plan.hpp"
#include "process/helper_process.hpp"
#include "supervise/supervisor.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The error files of one attempt. Their file system may hang: a HelperTask makes their directories, removes old
/// files and reads new ones; after a timeout the attempt goes on without them.
class ErrorFiles {
 public:
  /// The plan outlives it. `run_folder` was made for this run; empty: none.
  ErrorFiles(boost::asio::io_context& io, HelperProcesses& helpers, const LaunchPlan& plan, std::string run_folder)
      : helper_task_(io, helpers), io_(io), plan_(plan), run_folder_(std::move(run_folder)) {}

  /// Makes the directories of the error files and removes old files, so that the message of an earlier attempt, or of
  /// an earlier run, is not taken for a new one. To be called in each attempt before its first worker starts. True:
  /// done. False: calls `then` once, in a later turn of the loop.
  bool prepare(std::function<void()> then);
  /// A `System` error if a directory could not be made: no worker may start.
  const Result<>& prepared() const { return prepared_; }
  /// Reads the files of these workers. Calls `then` once, in a later turn of the loop.
  void read(const std::vector<WorkerEnded>& failed, std::function<void()> then);
  /// The worker's error in one sentence; empty: none, or not read.
  std::string message(std::size_t worker) const { return value_at(messages_, worker); }

 private:
  bool is_in_run_folder(const std::string& path) const;
  std::vector<std::string> files_to_prepare() const;
  std::string make_room(const std::vector<std::string>& paths) const;
  void give_up();
  void keep(const std::vector<std::size_t>& workers, const std::string& answer);

  HelperTask helper_task_;
  boost::asio::io_context& io_;
  const LaunchPlan& plan_;
  std::string run_folder_;
  Result<> prepared_;
  bool has_given_up_ = false;  ///< a file that could not be removed may still be there
  std::map<std::size_t, std::string> messages_;
};

// The file of `--progress-file`.

/// Size, time and inode number of a file, which change when it is written; "none" if there is no such file.
std::string fingerprint_file(const std::string& path);

/// Tells whether a file has changed between two attempts.
class FileProgress {
 public:
  /// An empty path: nothing is watched.
  FileProgress(boost::asio::io_context& io, HelperProcesses& helpers, std::string path)
      : helper_task_(io, helpers), path_(std::move(path)) {}

  /// Reads the file's state for the first time.
  void start();
  /// Calls `then` with true if the file has changed since the last call; empty: nothing is watched, or the file
  /// system does not answer.
  void check(const std::function<void(std::optional<bool>)>& then);

 private:
  void read_in_helper(HelperTask::Then then);

  HelperTask helper_task_;
  std::string path_;
  HelperTask::Answer last_;
};

}  // namespace muster
