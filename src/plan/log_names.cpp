// The two layouts of a log folder: muster's own, and that of torchrun.
// Source: DefaultLogsSpecs in torch/distributed/elastic/multiprocessing/api.py of torch 2.13.
#include "plan/plan_document.hpp"

#include <algorithm>
#include <filesystem>

namespace muster {
namespace {

/// The late value that tells the folders of runs apart: drawn once on each node, so that all attempts share it.
constexpr const char* kToken = "log_token";

std::string in_log_dir(const JobRequest& job, const std::string& name) {
  return job.log_dir.empty() ? name : job.log_dir + "/" + name;
}

/// A name of one folder.
std::string without_slashes(std::string text) {
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

/// A name that ends with .txt is that of the one file.
StreamLogs with_endings(const std::string& path, bool joins_streams) {
  if (!joins_streams) {
    return {path + ".out", path + ".err"};
  }
  const std::string both = path.ends_with(".txt") ? path : path + ".log";
  return {both, both};
}

}  // namespace

std::string name_log_folder(const JobRequest& job, int attempt, const std::string& run_id) {
  const std::string run = job.log_layout == LogLayout::ByRank
                              ? ""
                              : without_slashes(run_id) + "_" + mark_deferred(kToken) + "/";
  return in_log_dir(job, run + "attempt_" + std::to_string(attempt));
}

StreamLogs name_logs(const JobRequest& job, const std::string& folder, const LogOwner& owner) {
  if (job.log_layout != LogLayout::ByRank) {
    const std::string own = folder + "/" + owner.local_rank;
    return {own + "/stdout.log", own + "/stderr.log"};
  }
  return with_endings(owner.path.empty() ? folder + "/" + owner.name : in_log_dir(job, owner.path),
                      owner.joins_streams);
}

std::string name_error_file(const RolePlan& shared, const Values& values) {
  const JobRequest& job = shared.job;
  if (shared.role.error_file.empty() || job.log_layout == LogLayout::Nothing) {
    return {};
  }
  if (job.log_layout == LogLayout::ByRank || job.log_dir.empty()) {
    return fill_placeholders(shared.role.error_file, values);
  }
  const std::filesystem::path here = shared.snapshot.working_directory;
  const std::string file = shared.log_folder + "/" + values.at("local_rank") + "/error.json";
  return (here / file).lexically_normal().string();
}

/// In muster's own layout they lie beside the logs of the first worker. Several nodes may share that folder, so each of them has
/// files of its own there.
StreamLogs name_chosen_lines(const LaunchPlan& plan,
                             const JobRequest& job,
                             const std::string& folder) {
  const bool is_own = job.log_layout == LogLayout::ByRank;
  const bool is_beside = is_own && !plan.workers.empty();
  const std::string place =
      is_beside ? std::filesystem::path(plan.workers.front().log.out).parent_path().string()
                : folder;
  const std::string node = is_own && plan.nodes > 1 ? "_" + to_string(plan.node_rank) : "";
  return {place + "/filtered_stdout" + node + ".log", place + "/filtered_stderr" + node + ".log"};
}

}  // namespace muster
