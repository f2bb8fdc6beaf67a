#pragma once

// Files that keep the imports of programs for later jobs (docs/standby.md). Private to src/agent.

#include "process/helper_process.hpp"
#include "process/spawn.hpp"
#include "standby/standby_rules.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace muster {

/// Reads and writes the files in helper processes, because a home folder may hang.
class ImportFiles {
 public:
  /// A program, and the values that name its file.
  struct Of {
    standby::PythonProgram program;
    std::string key;         ///< `standby::kept_key`
    std::string executable;  ///< path of its interpreter
  };

  /// The variables, which name the folder, outlive it.
  ImportFiles(boost::asio::io_context& io, HelperProcesses& helpers,
              const std::map<std::string, std::string>& variables)
      : variables_(variables), task_(io, helpers) {}

  /// Calls `then` once, in a later turn of the loop, with the imports of each program. They have no modules if no
  /// file is kept, if the program or its packages have changed since, or if the file may be another user's.
  void read(const std::vector<Of>& programs, std::function<void(std::vector<standby::Imports>)> then);
  /// Keeps what a worker has noted about its imports. If the file cannot be written, nothing is kept.
  void write(const Of& program, const std::string& notes);
  /// After this, `then` is not called.
  void cancel() { task_.cancel(); }

  static Of of(const standby::PythonProgram& program, const SpawnRequest& request);

 private:
  const std::map<std::string, std::string>& variables_;
  HelperTask task_;
};

}  // namespace muster
