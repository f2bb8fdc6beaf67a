#pragma once

// A folder for the time of the run: the workers' error files. Private to run/.

#include "base/result.hpp"

#include <string>

namespace muster {

/// A private folder with what is in it.
class RunFolder {
 public:
  RunFolder() = default;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() = default;

  /// In shared memory, where nothing waits for a disk. False where there is none, or no place.
  bool make_in_memory();
  /// Below $TMPDIR or /tmp, whose file system may hang.
  Result<> make_below(const std::string& temporary_folder);
  /// Empty when there is none.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The one who is the last to need it has to; a file system that hangs is not waited for.
  void remove();

 private:
  std::string path_;
  bool is_in_memory_ = false;
};

/// Where the folder in shared memory is gone, it is made again: a login that ends may have the shared memory of its user cleared
/// (logind.conf(5), RemoveIPC), while a job that it left behind goes on.
void make_again(const std::string& folder);

/// A new private folder "<temporary_folder>/<name>_XXXXXX". An error says why it cannot be had.
[[nodiscard]] Result<std::string> make_temporary_folder(const std::string& temporary_folder,
                                                        const std::string& name);

}  // namespace muster
