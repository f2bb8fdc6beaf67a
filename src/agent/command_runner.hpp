#pragma once

// Runs a command line of the user beside the workers: that of --on-hang, that of --preflight-command. Private to
// src/agent.

#include "agent/process_loop.hpp"
#include "agent/shutdown.hpp"
#include "base/file_io.hpp"
#include "base/result.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>

namespace muster {

struct UserCommand {
  std::string line;  ///< for /bin/sh
  std::map<std::string, std::string> environment;
  std::chrono::milliseconds limit{};  ///< how long the command may run
  std::chrono::milliseconds grace{};  ///< between SIGTERM, after `limit`, and SIGKILL; 0: SIGKILL at once
  /// True: processes that it leaves are killed; false: those that hold its output are awaited.
  bool ends_with_its_program = false;
};

struct CommandEnd {
  std::string problem;    ///< "ended with exit code 3"; empty: it ended with 0
  std::string last_line;  ///< of its output: visible, without secrets, at most 200 bytes
  std::string output;     ///< of both streams, at most 1 MiB
};

/// Has a helper process start and limit the command: so the attempt does not wait for the command, and does not end
/// it together with processes that workers leave behind.
class CommandRunner {
 public:
  /// `name` is the command's name as pending work: "the command of --on-hang". The references outlive it.
  CommandRunner(ProcessLoop& loop, PendingWork& pending, const Inherited& inherited, std::string name);

  bool is_idle() const { return task_.is_idle(); }
  /// Runs the command, in a session of its own and with /dev/null as its input, and calls `then` once. To be called when
  /// it is idle. Fails where no pipe can be made.
  [[nodiscard]] Result<> start(UserCommand command, std::function<void(CommandEnd)> then);
  /// The job has ended: kills the command.
  void end();

 private:
  PendingWork& pending_;
  const Inherited& inherited_;
  std::string name_;
  HelperTask task_;
  UniqueFd lifeline_;  ///< the helper process kills the command when this is closed, also by our death
};

}  // namespace muster
