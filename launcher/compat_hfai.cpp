// HAI: the package hfai, and the task whose manager tells of notices.
// Source: HFAiLab/hai-platform, the environment of a training task and the names of its pods.
#include "compat_hfai.hpp"

#include "environment/own_program.hpp"

#include <algorithm>

namespace muster {
namespace {

constexpr const char* kHai = "hai";
constexpr const char* kOption = "compat-hfai";

/// Both folders where the modules would be.
std::string describe_places() {
  const auto places = own_module_places();
  return "neither '" + places[0] + "' nor '" + places[1] + "' is there";
}

/// In front of what is there. An empty part of the list would be the folder where a worker is.
void add_python_path(PlanInput& input, const std::string& folder) {
  const auto [path, is_new] = input.job.exported.try_emplace("PYTHONPATH");
  if (is_new) {
    path->second = input.snapshot.variable("PYTHONPATH").value_or("");
  }
  path->second = folder + (path->second.empty() ? "" : ":") + path->second;
}

}  // namespace

Result<> read_compat_hfai(Options& options, const Settings& settings) {
  const auto given = settings.find(kOption);
  if (!given) {
    return {};
  }
  for (const auto& [word, when] : {std::pair("auto", When::Auto),
                                   std::pair("always", When::Always),
                                   std::pair("never", When::Never)}) {
    if (given->value == word) {
      options.compat_hfai = {when, given->source};
      return {};
    }
  }
  return wrong_value(*given, "auto, always or never");
}

Result<> add_hfai(PlanInput& input, const Options& options) {
  const auto& [when, source] = options.compat_hfai;
  if (when == When::Never || (when == When::Auto && input.cluster.platform != kHai)) {
    return {};
  }
  if (const std::string modules = find_own_modules(); !modules.empty()) {
    add_python_path(input, modules);
    return {};
  }
  if (when == When::Always) {
    return wrong_value({"always", source},
                       "an installation with the modules for Python, and " + describe_places());
  }
  input.cluster.notices.push_back("scripts do not find muster's package hfai: " +
                                  describe_places());
  return {};
}

std::optional<HaiTask> find_hai_task(const LaunchPlan& plan, const Snapshot& snapshot) {
  if (plan.platform != kHai || plan.node_rank.value != 0) {
    return std::nullopt;
  }
  HaiTask task;
  task.is_training = snapshot.variable("MARSV2_TASK_TYPE") == "training";
  const std::string user = snapshot.variable("MARSV2_USER").value_or("");
  const std::string id = snapshot.variable("MARSV2_TASK_ID").value_or("");
  if (!user.empty() && !id.empty()) {
    task.manager = user + "-" + id + "-manager-0";
    std::replace(task.manager.begin(), task.manager.end(), '_', '-');
  }
  return task;
}

}  // namespace muster
