#pragma once

// A folder for the time of the run: the workers' error files. Private to run/.

#include <string>

namespace muster {

/// Makes a private folder below $TMPDIR or /tmp; removes it and what is in it at the end.
class RunFolder {
 public:
  RunFolder() = default;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() { remove(); }

  /// False when no folder can be made: the job runs without error files.
  bool make(const std::string& temporary_folder);
  /// Empty when there is none.
  [[nodiscard]] const std::string& path() const { return path_; }
  void remove();
  /// It is removed by somebody else.
  void forget() { path_.clear(); }

 private:
  std::string path_;
};

/// A new private folder "<temporary_folder>/<name>_XXXXXX"; empty when it cannot be made.
[[nodiscard]] std::string make_temporary_folder(const std::string& temporary_folder,
                                                const std::string& name);

/// The content of a regular file, at most `limit` bytes; empty when it cannot be read. A worker
/// wrote it: it may be a pipe, a link or huge.
[[nodiscard]] std::string read_untrusted_file(const std::string& path, std::size_t limit);

}  // namespace muster
