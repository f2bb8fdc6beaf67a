#pragma once

// Runs the command of --on-hang when a hang is reported (docs/hangs.md). Private to src/agent.

#include "agent/attempt_file.hpp"
#include "agent/command_runner.hpp"
#include "run/run_context.hpp"

#include <map>
#include <string>

namespace muster {

class HangHook {
 public:
  /// The references outlive it.
  HangHook(ProcessLoop& loop, PendingWork& pending, const RunContext& run);

  /// An attempt begins. The output goes to this file; an empty path: to the console.
  void begin(const std::string& path) { file_.begin(path); }
  /// Runs the command, if there is one, in this environment.
  void run(std::map<std::string, std::string> environment);
  /// The job has ended: kills the command.
  void end() { runner_.end(); }

 private:
  void take(const CommandEnd& ended);

  const RunContext& run_;
  AttemptFile file_;
  CommandRunner runner_;
};

}  // namespace muster
