#pragma once

// Makes the start of workers quicker: standbys, libraries that are read ahead, and compilers' caches. Private to src/agent.

#include "agent/compile_caches.hpp"
#include "agent/early_standbys.hpp"
#include "agent/read_ahead.hpp"
#include "agent/standbys.hpp"

namespace muster {

/// The references outlive it.
class HeadStart {
 public:
  HeadStart(ProcessLoop& loop, PendingWork& pending, const RunContext& run)
      : standbys_(loop.io(), loop.helpers(), run, pending),
        read_ahead_(loop.io(), loop.helpers(), run),
        early_standbys_(loop, run, standbys_, read_ahead_),
        caches_(loop.io(), loop.helpers(), run) {}

  Standbys& standbys() { return standbys_; }
  ReadAhead& read_ahead() { return read_ahead_; }
  CompileCaches& caches() { return caches_; }

  /// This node waits for others.
  void start() { early_standbys_.start(); }
  void begin_attempt(const LaunchPlan& plan) {
    early_standbys_.cancel();
    read_ahead_.begin_attempt();
    standbys_.begin_attempt(plan);
    caches_.begin_attempt(plan);
  }
  /// The workers are to end, or have ended.
  void end_attempt() {
    standbys_.end_attempt();
    read_ahead_.stop();
  }
  /// Ends all but the caches, which are kept when the job is over.
  void end() {
    early_standbys_.cancel();
    read_ahead_.stop();
    standbys_.end();
  }

 private:
  Standbys standbys_;
  ReadAhead read_ahead_;
  EarlyStandbys early_standbys_;
  CompileCaches caches_;
};

}  // namespace muster
