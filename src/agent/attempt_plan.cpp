// Fills in what the plan left open until the nodes have met, and logs it.
#include "agent/attempt_plan.hpp"

#include "agent/rank_folders.hpp"
#include "base/log.hpp"
#include "base/ranks.hpp"
#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "environment/snapshot.hpp"
#include "exchange/startup_values.hpp"
#include "process/programs.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// Python writes the stacks of all threads on standard error when a signal such as SIGSEGV or SIGABRT ends it.
constexpr const char* kFaultHandlerVariable = "PYTHONFAULTHANDLER";

/// Adds the job's variables to the workers' environment, but not below another launcher, whose variables they keep.
void add_job_environment(LaunchPlan& plan, const gang::Start& start, const RunContext& run) {
  if (plan.is_transparent) {
    return;
  }
  std::map<std::string, std::string> all = {{kRestartCountVariable, std::to_string(start.restart_count)}};
  if (!start.last_verdict.empty()) {
    all[kLastVerdictVariable] = start.last_verdict;
  }
  if (!run.options.state_folder.empty()) {
    all[kJobStateVariable] = run.options.state_folder;
  }
  if (!run.variables.contains(kFaultHandlerVariable)) {
    all[kFaultHandlerVariable] = "1";
  }
  for (WorkerPlan& worker : plan.workers) {
    worker.environment.insert(all.begin(), all.end());
  }
}

/// The values that a plan leaves open until a run begins.
std::map<std::string, std::string> values_of(const RunContext& run) {
  return {{"run_dir", run.run_folder},
          {"shm_dir", run.shared_folder},
          {"muster", program_path()},
          {"run_id", run.run_id},
          {"log_token", run.log_token}};
}

/// Logs how ranks of MPI start, if the nodes voted on it: on the first node, before the first attempt.
void log_start_method(const JobPlan& job, const AgreedMethod& method, const Placement& placement) {
  if (job.others.empty() || placement.node_rank.value != 0 || placement.attempt != 0) {
    return;
  }
  const ChosenMode& mode = method.index == 0 ? job.input->mode : job.others.at(method.index - 1).mode;
  std::vector<std::string> reasons;
  if (const std::string& only_mpirun = mode.mpirun.only_mpirun.value; !only_mpirun.empty()) {
    reasons.push_back("only mpirun understands " + only_mpirun);
  }
  reasons.insert(reasons.end(), method.why_not.begin(), method.why_not.end());
  log_info("ranks of MPI start by way of " + std::string(name_of(mode.method.value())) +
           (reasons.empty() ? "" : ", because " + join(reasons, ", and ")));
}

/// Logs this node's ranks and where the workers meet, which are known only once the nodes have met.
void log_start(const JobPlan& job, const LaunchPlan& plan, const std::string& interface) {
  const Placement& placement = plan.placement;
  if (job.gang.config.job.most_nodes == 1 && placement.attempt == 0) {
    if (job.plan.awaits_table) {
      log_info(plan.notices.front());
    }
    return;  // otherwise the first log line of the job has said everything
  }
  const auto here = ProcessNames::of(plan.workers);
  const bool has_ranks = here.has_ranks() || here.size() == 0;
  const std::string port = placement.worker_port ? ":" + std::to_string(*placement.worker_port) : "";
  log_info("attempt " + std::to_string(placement.attempt) + ": node " + to_string(placement.node_rank) + " of " +
           std::to_string(placement.nodes) + ", " + here.describe() +
           (has_ranks ? " of " + std::to_string(plan.world_size) : "") + " here, the workers meet at " +
           placement.master_address + port + (interface.empty() ? "" : ", from here by " + interface));
}

}  // namespace

LaunchPlan plan_of_attempt(const RunContext& run, const StartupExchange& startup, const gang::StartAttempt& wanted) {
  const auto& [start, merged] = wanted;
  Placement placement = start.placement;
  placement.ports = find_agreed<PortsValue>(merged).value_or(std::vector<NodePorts>());
  const AgreedMethod method = find_agreed<MpiStartValue>(merged).value_or(AgreedMethod());
  LaunchPlan plan = run.job.plan;
  auto ranked = run.job.input ? startup.table_of(placement, merged) : std::nullopt;
  if (method.index == 0 && !ranked && is_plan_for(plan, placement)) {
    plan.placement = placement;
  } else if (run.job.input) {
    PlanInput input = *run.job.input;
    input.ranked = std::move(ranked);
    if (method.index > 0) {  // one of the fallbacks
      input.mode = run.job.others.at(method.index - 1).mode;
    }
    plan = make_plan(input, placement);
  }
  const LocalEnd own = placement.nodes == 1 ? LocalEnd() : local_end_towards(placement.master_address);
  std::map<std::string, std::string> values = values_of(run);
  if (placement.worker_port) {
    values["worker_port"] = std::to_string(*placement.worker_port);
  }
  values["job_secret"] = find_agreed<JobSecretValue>(merged).value_or("");
  values["own_address"] = own.address;
  values["own_interface"] = own.interface;
  fill_deferred(plan, values);
  give_rank_folders(plan, run.run_folder, run.rank_folders_root);
  add_job_environment(plan, start, run);
  log_start_method(run.job, method, placement);
  log_start(run.job, plan, own.interface);
  return plan;
}

LaunchPlan expected_plan(const RunContext& run) {
  LaunchPlan plan = run.job.plan;
  fill_deferred(plan, values_of(run));
  add_job_environment(plan, {}, run);
  return plan;
}

}  // namespace muster
