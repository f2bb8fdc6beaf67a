#pragma once

// A file of this node in the log folder of an attempt. Private to src/agent.

#include "output/log_files.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

/// A file that its first text creates: an attempt in which nothing happens has no file.
class AttemptFile {
 public:
  /// `logs` outlives it.
  explicit AttemptFile(LogFiles& logs) : logs_(logs) {}

  /// Begins another attempt, which has a file of its own. An empty path: the job writes no files.
  void begin(std::string path) {
    if (file_) {
      logs_.close(*file_);
      file_.reset();
    }
    path_ = std::move(path);
  }

  /// Appends to the file. False: the job writes no files.
  bool append(std::string_view text) {
    if (path_.empty()) {
      return false;
    }
    if (!file_) {
      file_ = logs_.open(path_);
    }
    logs_.write(*file_, text);
    return true;
  }

 private:
  LogFiles& logs_;
  std::string path_;
  std::shared_ptr<LogFile> file_;
};

}  // namespace muster
