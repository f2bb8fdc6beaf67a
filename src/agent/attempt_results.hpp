#pragma once

// What became of an attempt, for the gang and for the report. Private to run/.

#include "agent/error_files.hpp"
#include "output/worker_streams.hpp"
#include "process/workers.hpp"
#include "agent/worker_starter.hpp"

#include "control/status.hpp"
#include "plan/launch_plan.hpp"
#include "agent/outcome.hpp"
#include "services/service.hpp"
#include "supervise/end_hints.hpp"
#include "supervise/supervisor.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// Who knows something about it.
struct AttemptView {
  const LaunchPlan& plan;
  const Workers& workers;
  const Supervisor& supervisor;
  const WorkerStreams& streams;
  const std::optional<StartFailure>& start_failure;
  const std::optional<ServiceFailure>& service_failure;
  const std::map<std::size_t, std::string>& faults;  ///< what services know of failed workers
  const ErrorFiles& error_files;
  const OomKills& oom_kills;  ///< before the first worker; no file: they cannot be read
};

/// Who failed on this node.
struct NodeFailures {
  std::optional<Failure> first;  ///< empty: nobody did before they were asked to end
  OtherFailures others;          ///< as they ended
};

/// How the workers are now, without what /proc knows of them.
[[nodiscard]] std::vector<control::WorkerStatus> status_of(const AttemptView& attempt);

[[nodiscard]] std::vector<WorkerResult> results_of(const AttemptView& attempt);

/// Of a plan that was never carried out.
[[nodiscard]] std::vector<WorkerResult> results_without_start(const LaunchPlan& plan);

/// With last lines and words of error files, as far as they have been read.
[[nodiscard]] NodeFailures failures_of(const AttemptView& attempt, const std::string& host_name);

}  // namespace muster
