#pragma once

// Names the files for the output of workers. Private to plan/.

#include "plan/launch_plan.hpp"
#include "plan/make_plan.hpp"

#include <string>

namespace muster {

/// The parts of a process's log file names that differ from other processes.
struct LogOwner {
  std::string name;        ///< role and rank within it
  std::string local_rank;  ///< number on this node
  std::string path = {};   ///< path from its role, without ending; empty: none
  bool joins_streams = false;
};

/// The directory for the files of an attempt. `run_id` is the job's name, or its mark until the start.
std::string name_log_folder(const JobRequest& job, int attempt, const std::string& run_id);

/// The log files of a process; `folder` is the attempt's.
StreamLogs name_logs(const JobRequest& job, const std::string& folder, const LogOwner& owner);

/// The file where a process writes its error, as an absolute path, because the process may change its directory.
/// Empty: the mode has no such file, or no files are wanted.
std::string name_error_file(const RolePlan& shared, const Values& values);

/// Names the files of the plan that are not of one process. `folder` is the attempt's.
void name_node_files(LaunchPlan& plan, const JobRequest& job, const std::string& folder);

}  // namespace muster
