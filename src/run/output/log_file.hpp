#pragma once

// One log file: of one stream of one worker, or of several streams. Private to run/.

#include <muster/base/result.hpp>
#include <muster/base/unique_fd.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

/// Holds exactly what is written to it. A full disk does not end the job: it is said once, writing is
/// tried again with each piece, and the bytes that are missing are counted.
class LogFile {
 public:
  /// Creates the file and the folders above it. A file that is there already is kept under the name
  /// "<path>.1", and an older ".1" under ".2", and so on.
  [[nodiscard]] static Result<LogFile> create(const std::string& path);

  /// Returns a sentence when the file could not be written for the first time, else nothing.
  [[nodiscard]] std::string write(std::string_view bytes);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t missing_bytes() const { return missing_bytes_; }

 private:
  LogFile(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  UniqueFd file_;
  std::uint64_t missing_bytes_ = 0;
};

}  // namespace muster
