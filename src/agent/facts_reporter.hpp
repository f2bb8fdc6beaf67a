#pragma once

// Tells the gang the facts of this node, by which it is compared with the others (docs/preflight.md). Private to
// src/agent.

#include "agent/process_loop.hpp"
#include "gang/gang.hpp"
#include "preflight/read_facts.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"
#include "run/run_context.hpp"

#include <string>

namespace muster {

/// Finds the sources of facts on this host, except the version and the memory limit. If the workers' `program`, which
/// is searched in `path`, is a Python interpreter, it is a source, too.
preflight::FactSources local_sources(const Inherited& inherited, const std::string& program, const std::string& path);

class FactsReporter {
 public:
  /// The references outlive it.
  FactsReporter(ProcessLoop& loop, const RunContext& run, gang::Gang& gang);

  /// Reads the facts in a helper process, because a file system may hang, and answers by an event `StatusReport` with
  /// this number. Its text is empty where the user wants no comparison, or the facts cannot be read in time.
  void describe(int number);
  /// The job has ended: nothing is answered any more.
  void end() { helper_.cancel(); }

 private:
  std::string read() const;
  void add_answers(preflight::Facts& facts) const;

  const RunContext& run_;
  gang::Gang& gang_;
  HelperTask helper_;
};

}  // namespace muster
