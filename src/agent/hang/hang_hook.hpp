#pragma once

// Runs the command of --on-hang when a hang is reported (docs/hangs.md). Private to src/agent.

#include "agent/attempt_file.hpp"
#include "agent/process_loop.hpp"
#include "agent/shutdown.hpp"
#include "base/file_io.hpp"
#include "process/helper_process.hpp"
#include "run/run_context.hpp"

#include <map>
#include <string>

namespace muster {

/// The command is started and limited by a helper process: so the attempt neither waits for it, nor ends it with what
/// workers leave behind.
class HangHook {
 public:
  /// The references outlive it.
  HangHook(ProcessLoop& loop, PendingWork& pending, const RunContext& run);

  /// An attempt begins. The output goes to this file; an empty path: to the console.
  void begin(const std::string& path) { file_.begin(path); }
  /// Runs the command, if there is one, in this environment.
  void run(std::map<std::string, std::string> environment);
  /// The job has ended: kills the command.
  void end();

 private:
  void take(const HelperTask::Answer& answer);
  void write_output(const std::string& output);

  PendingWork& pending_;
  const RunContext& run_;
  AttemptFile file_;
  HelperTask task_;
  UniqueFd lifeline_;  ///< the helper process kills the command when this is closed, also by our death
};

}  // namespace muster
