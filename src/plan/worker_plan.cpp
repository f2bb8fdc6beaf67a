// The plan inside another launcher's worker, and what of muster's own no worker gets.
#include "plan/worker_plan.hpp"

#include "plan/plan_document.hpp"

#include "base/text.hpp"
#include "environment/marker.hpp"
#include "environment/worker_variables.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Nothing of muster's own may reach a worker but what is for workers: the marker, which run/ adds, and the ways to talk to the
/// job that it is a worker of.
bool is_own_variable(const std::string& name) {
  const bool is_for_workers =
      name == kMarkerVariable ||
      std::find(kWorkerVariables.begin(), kWorkerVariables.end(), name) != kWorkerVariables.end();
  return name.starts_with("MUSTER_") && !is_for_workers;
}

}  // namespace

std::vector<std::string> own_variables(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& [name, value] : snapshot.variables) {
    if (is_own_variable(name)) {
      names.push_back(name);
    }
  }
  return names;
}

LaunchPlan make_worker_plan(const JobRequest& job, const Snapshot& snapshot) {
  const auto number = [&](const char* name, int otherwise) {
    return parse_integer(snapshot.variable(name).value_or(""), 0, 1'000'000'000)
        .value_or(otherwise);
  };
  const std::string local_rank = *snapshot.variable("LOCAL_RANK");
  const std::string local_world_size = *snapshot.variable("LOCAL_WORLD_SIZE");
  LaunchPlan plan;
  plan.is_transparent = true;
  plan.platform = "worker";
  plan.mode = "none";
  plan.hosts = {std::nullopt};
  plan.slots = {1};
  plan.master_address = snapshot.variable("MASTER_ADDR").value_or("");
  if (const auto port = parse_integer(snapshot.variable("MASTER_PORT").value_or(""), 1, 65'535)) {
    plan.master_port = static_cast<std::uint16_t>(*port);
  }
  plan.world_size = number("WORLD_SIZE", 1);
  plan.decisions = {{"platform", "worker", "LOCAL_RANK and LOCAL_WORLD_SIZE"},
                    {"nodes.slots", "1", "LOCAL_RANK and LOCAL_WORLD_SIZE"}};
  plan.notices = {"already a worker of another launcher (LOCAL_RANK=" + local_rank +
                  ", LOCAL_WORLD_SIZE=" + local_world_size +
                  "): starting one process with the environment unchanged; --nproc-per-node "
                  "overrides this"};
  WorkerPlan worker;
  worker.role = "worker";
  worker.global_rank = GlobalRank{number("RANK", 0)};
  worker.local_rank = LocalRank{number("LOCAL_RANK", 0)};
  worker.argv = job.program;
  worker.script = job.script;
  worker.unset = own_variables(snapshot);
  worker.working_directory = snapshot.working_directory;
  const std::string log_folder = name_log_folder(job, plan.attempt, mark_deferred("run_id"));
  worker.log = name_logs(job,
                         log_folder,
                         {.name = "worker_" + to_string(worker.global_rank),
                          .local_rank = to_string(worker.local_rank)});
  plan.workers.push_back(std::move(worker));
  plan.chosen_lines = name_chosen_lines(plan, job, log_folder);
  return plan;
}

}  // namespace muster
