#pragma once

// What `--progress-file` looks like. Private to run/.

#include "process/errand.hpp"

#include <functional>
#include <optional>
#include <string>

namespace muster {

/// Size, time and number of a file. They change when somebody writes; a file that is not there looks alike
/// each time.
[[nodiscard]] std::string look_at_file(const std::string& path);

/// Finds out whether a file has changed from one attempt to the next.
class RankTableProgress {
 public:
  /// Without a path nothing is watched.
  RankTableProgress(boost::asio::io_context& io, HelperProcesses& helpers, std::string path)
      : errand_(io, helpers), path_(std::move(path)) {}

  /// Looks for the first time.
  void start();
  /// Calls `then` with whether the file has changed since the last look. Empty: nothing is watched, or the
  /// file system does not answer.
  void look(const std::function<void(std::optional<bool>)>& then);

 private:
  void read_in_helper(std::function<void(HelperTask::Answer)> then);

  HelperTask errand_;
  std::string path_;
  HelperTask::Answer last_;
};

}  // namespace muster
