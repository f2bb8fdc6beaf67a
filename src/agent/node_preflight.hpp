#pragma once

// Answers what the leader asks of this node before an attempt (docs/preflight.md). Private to src/agent.

#include "agent/bad_nodes_keeper.hpp"
#include "agent/facts_reporter.hpp"
#include "agent/link_checker.hpp"
#include "agent/preflight_hook.hpp"

#include <map>
#include <string>
#include <utility>

namespace muster {

/// Passes each question of the leader to the part that answers it. The references outlive it.
class NodePreflight {
 public:
  NodePreflight(ProcessLoop& loop, PendingWork& pending, const RunContext& run, gang::Gang& gang)
      : facts_(loop, run, gang),
        links_(loop, run, gang),
        command_(loop, pending, run, gang),
        bad_nodes_(loop.io(), loop.helpers(), pending, run.job.gang.config.options.bad_nodes) {}

  /// Answers a question. False: it is not about the preflight. `environment` is for programs that run on this node.
  bool answer(const gang::StatusQuery& asked, std::map<std::string, std::string> environment) {
    if (asked.what == gang::kFactsQuestion) {
      facts_.describe(asked.number);
    } else if (asked.number == gang::kLinksNumber) {
      links_.answer(asked.what);
    } else if (asked.number == gang::kCommandNumber) {
      command_.run(asked, std::move(environment));
    } else {
      return false;
    }
    return true;
  }
  void keep(const gang::KeepBadNode& wanted) { bad_nodes_.keep(wanted); }

  void begin_attempt(const LaunchPlan& plan) {
    links_.cancel();
    command_.begin_attempt(plan);
  }
  void end() {
    facts_.end();
    links_.cancel();
    command_.end();
  }

 private:
  FactsReporter facts_;
  LinkChecker links_;
  PreflightHook command_;
  BadNodesKeeper bad_nodes_;
};

}  // namespace muster
