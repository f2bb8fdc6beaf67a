#pragma once

// The temporary directory of a run.

#include "base/result.hpp"

#include <map>
#include <string>

namespace muster {

/// A private directory and its content.
class RunFolder {
 public:
  RunFolder() = default;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() = default;

  /// Creates it in shared memory, where no disk can block. False: no shared memory, or it is full.
  bool make_in_memory(const std::string& name = "muster");
  /// Creates it below `temporary_folder`, whose file system may hang (limited to 1 s).
  Result<> make_below(const std::string& temporary_folder, const std::string& name = "muster");
  /// Empty: no directory.
  const std::string& path() const { return path_; }
  /// Removes the folder. To be called by its last user. Gives up after 2 s if the file system hangs.
  void remove();
  /// Keeps the folder from being removed, if a rank has written a file there whose name `is_wanted`. Returns the
  /// folder's path; empty: it is not kept. Also gives up after 2 s.
  std::string keep_if_has(bool (*is_wanted)(const std::string& name));

 private:
  std::string path_;
  bool is_in_memory_ = false;
};

/// True for a path in shared memory.
bool is_in_memory(const std::string& path);

/// Creates the directory in shared memory again if it is gone: at logout the user's shared memory may be cleared
/// (logind.conf(5), RemoveIPC) while a job left in the background goes on.
void make_again(const std::string& folder);

/// TMPDIR of these variables, else /tmp, as an absolute path.
std::string temporary_folder(const std::map<std::string, std::string>& variables);

/// Creates a private directory "<temporary_folder>/<name>_XXXXXX". The error names the reason.
[[nodiscard]] Result<std::string> make_temporary_folder(const std::string& temporary_folder, const std::string& name);

}  // namespace muster
