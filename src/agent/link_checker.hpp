#pragma once

// Measures the links between this node and others when the leader asks for it (docs/preflight.md). Private to src/agent.

#include "agent/process_loop.hpp"
#include "base/file_io.hpp"
#include "gang/gang.hpp"
#include "gang/link_check.hpp"
#include "process/helper_process.hpp"
#include "run/run_context.hpp"

#include <string>

namespace muster {

class LinkChecker {
 public:
  /// The references outlive it.
  LinkChecker(ProcessLoop& loop, const RunContext& run, gang::Gang& gang);

  /// Answers a question of the leader by an event `StatusReport`: listens, or has a helper process measure. Refuses
  /// if that is impossible, or if the user wants no comparison.
  void answer(const std::string& question);
  /// Ends the check: kills the helper process, closes the port, and answers no more.
  void cancel();

 private:
  std::string listen(const gang::LinkListen& question);
  void measure(const gang::LinkPlan& plan);
  void tell(std::string text) { gang_.notify(gang::StatusReport{gang::kLinksNumber, std::move(text)}); }

  const RunContext& run_;
  gang::Gang& gang_;
  HelperTask helper_;
  UniqueFd listener_;  ///< from the first question to the end of the measurement
  std::string key_;    ///< partners prove with it that they may connect
};

}  // namespace muster
