#pragma once

// Writes a file whose disk may be full for a while.

#include "base/file_io.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace muster {

/// Bytes and lines of one piece of output that could not be written to a file.
struct FileLoss {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;  ///< lines that end in the missing bytes
  int error_number = 0;     ///< of the failed write; 0: the file can be written again
};

/// A file to which writing goes on after an error, such as a full disk: each piece of output is tried. Its lines stay
/// whole: after a loss a torn line is ended, and the rest of a line whose beginning is missing is left out.
class LossyFile {
 public:
  using Write = std::function<WriteResult(std::string_view bytes)>;
  using Report = std::function<void(const FileLoss& loss)>;

  /// `report` is called for each piece that lacks bytes, and for the first one that lacks none.
  LossyFile(Write write, Report report) : write_(std::move(write)), report_(std::move(report)) {}

  void write(std::string_view bytes);

 private:
  WriteResult end_torn_line();
  void lose(std::string_view bytes);

  Write write_;
  Report report_;
  FileLoss loss_;                ///< of this piece; with the error of the last one, until the file is written again
  bool lacks_start_ = false;     ///< the next byte belongs to a line whose beginning is missing
  bool is_within_line_ = false;  ///< the file's last line has no end yet
};

}  // namespace muster
