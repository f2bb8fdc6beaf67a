#pragma once

// Runs the command of --preflight-command on this node when the leader asks for it (docs/preflight.md). Private to
// src/agent.

#include "agent/attempt_file.hpp"
#include "agent/command_runner.hpp"
#include "gang/gang.hpp"
#include "plan/launch_plan.hpp"
#include "run/run_context.hpp"

#include <map>
#include <string>

namespace muster {

class PreflightHook {
 public:
  /// The references outlive it.
  PreflightHook(ProcessLoop& loop, PendingWork& pending, const RunContext& run, gang::Gang& gang);

  /// Runs the command in this environment, with the devices that the user has chosen for the workers. Answers by an
  /// event `StatusReport` when the command has ended, or at once if there is no command.
  void run(const gang::StatusQuery& asked, std::map<std::string, std::string> environment);
  /// An attempt begins: what the command has said goes to its log folder, if it has one.
  void begin_attempt(const LaunchPlan& plan);
  /// The job has ended: kills the command.
  void end();

 private:
  UserCommand make_command(const gang::CommandQuestion& question, std::map<std::string, std::string> environment) const;
  void take(const CommandEnd& ended);
  void answer(std::string text) { gang_.notify(gang::StatusReport{gang::kCommandNumber, std::move(text)}); }

  const RunContext& run_;
  gang::Gang& gang_;
  AttemptFile file_;
  CommandRunner runner_;
  std::string output_;  ///< of the last run; no file has it yet
  bool is_asked_ = false;
  bool has_ended_ = false;
};

}  // namespace muster
