#pragma once

// What the files are called to which the output of workers goes. Private to plan/.

#include "plan/launch_plan.hpp"
#include "plan/make_plan.hpp"

#include <string>

namespace muster {

/// What tells the log files of a process from those of others.
struct LogOwner {
  std::string name;        ///< of its role and its rank there
  std::string local_rank;  ///< its number on this node
  std::string path = {};   ///< what its role says, without ending; empty: nothing
  bool joins_streams = false;
};

/// The folder for the files of an attempt. `run_id`: the job's name, or what stands for it until the start.
[[nodiscard]] std::string name_log_folder(const JobRequest& job, int attempt, const std::string& run_id);

/// Where the streams of a process go. `folder`: that of the attempt.
[[nodiscard]] StreamLogs name_logs(const JobRequest& job, const std::string& folder, const LogOwner& owner);

/// Where it writes why it failed: a whole path, since it may change its directory. Empty: its mode knows no such file, or no files
/// are wanted.
[[nodiscard]] std::string name_error_file(const RolePlan& shared, const Values& values);

/// Where lines of all workers of the plan go that hold chosen words.
[[nodiscard]] StreamLogs name_chosen_lines(const LaunchPlan& plan, const JobRequest& job, const std::string& folder);

}  // namespace muster
