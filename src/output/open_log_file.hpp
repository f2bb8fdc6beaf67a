#pragma once

// One log file: of one stream of one worker, or of several streams. Private to run/.

#include "base/unique_fd.hpp"
#include "base/write_all.hpp"

#include <string>
#include <string_view>

namespace muster {

/// Holds exactly what is written to it. A full disk is no reason to give it up: writing is tried again with
/// each piece. Its file system may hang, and whoever calls with it.
class OpenLogFile {
 public:
  /// Creates the file and the folders above it. A file that is there already is kept under the name
  /// "<path>.1", and an older ".1" under ".2", and so on. Returns 0, or why not, as errno.
  [[nodiscard]] int create(const std::string& path);

  [[nodiscard]] WriteResult write(std::string_view bytes) const {
    return write_all(file_.get(), bytes);
  }

 private:
  UniqueFd file_;
};

}  // namespace muster
