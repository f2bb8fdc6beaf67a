// Joins the stages up to the plan.
#include "plan_job.hpp"

#include "requests.hpp"

#include <muster/environment/topology.hpp>
#include <muster/front_end/front_end.hpp>
#include <muster/service/service.hpp>
#include <muster/supervise/stop_signals.hpp>

namespace muster {
namespace {

/// Another launcher has placed this worker: what the user says about places has no effect.
void remark_ignored(LaunchPlan& plan, const Settings& settings) {
  for (const char* const name : {"nnodes",
                                 "node-rank",
                                 "master-addr",
                                 "master-port",
                                 "platform",
                                 "mode",
                                 "template",
                                 "numa-binding",
                                 "bind-core",
                                 "bind-numa"}) {
    if (const auto setting = settings.find(name)) {
      plan.remarks.push_back("ignoring " + setting->source.name + ": this is a worker already");
    }
  }
}

/// Reads where CPUs and accelerators are, but only for a job that is to be bound to them.
Result<> bind_job(JobRequest& job,
                  const Settings& settings,
                  const std::string& mode,
                  const Snapshot& snapshot,
                  int workers) {
  const auto request = read_binding_request(settings, mode);
  if (!request || !*request) {
    return request ? Result<>() : request.error();
  }
  const auto topology = read_topology();
  if (!topology) {
    return topology.error();
  }
  auto binding = decide_binding(**request, *topology, snapshot, workers);
  if (!binding) {
    return binding.error();
  }
  job.binding = std::move(*binding);
  return {};
}

/// torchrun's workers find the signals that were asked for; a list that cannot be read is refused where
/// the options for the run are read.
void pass_stop_signals(ChosenMode& mode, const Settings& settings) {
  const auto given = settings.find("signals-to-handle");
  const auto parameter = mode.parameters.find("signals_to_handle");
  const auto signals = StopSignals::read(settings);
  if (given && signals && parameter != mode.parameters.end()) {
    parameter->second = {signals->to_text(), given->source};
  }
}

}  // namespace

Result<Planned> plan_job(const CommandLine& line, JobRequest& job, const Snapshot& snapshot) {
  if (is_already_worker(snapshot) && !line.settings.has("nproc-per-node")) {
    Planned planned{make_worker_plan(job, snapshot), std::nullopt, std::nullopt};
    remark_ignored(planned.plan, line.settings);
    return planned;
  }
  auto mode = choose_mode(line.settings, snapshot);
  if (!mode) {
    return mode.error();
  }
  if (auto checked = check_services(mode->mode); !checked) {
    return checked.error();
  }
  add_worker_arguments(mode->mode, line);
  pass_stop_signals(*mode, line.settings);
  const auto request = read_cluster_request(line.settings);
  if (!request) {
    return request.error();
  }
  const auto cluster = describe_cluster(
      snapshot,
      *request,
      {mode->mode.name, mode->mode.digest, roles_to_be_given(mode->mode), job.success_roles});
  if (!cluster) {
    return cluster.error();
  }
  if (auto checked = check_job(job, *cluster, *mode, snapshot); !checked) {
    return checked.error();
  }
  if (auto bound = bind_job(job, line.settings, mode->mode.name, snapshot, cluster->node.slots);
      !bound) {
    return bound.error();
  }
  Planned planned{make_plan(*cluster, *mode, job, snapshot), *cluster, *mode};
  if (auto checked = check_sizes(planned.plan); !checked) {
    return checked.error();
  }
  for (std::string& remark : front_end_remarks(line, *cluster)) {
    planned.plan.remarks.push_back(std::move(remark));
  }
  return planned;
}

}  // namespace muster
