// Joins the stages up to the plan.
#include "plan_job.hpp"

#include <muster/environment/topology.hpp>
#include <muster/front_end/front_end.hpp>
#include <muster/service/service.hpp>

namespace muster {
namespace {

/// Reads where CPUs and accelerators are, but only for a job that is to be bound to them.
Result<> bind_job(JobRequest& job,
                  const std::optional<BindingOptions>& options,
                  std::string_view mode,
                  const Snapshot& snapshot,
                  int workers) {
  if (!options) {
    return {};
  }
  const auto topology = read_topology();
  if (!topology) {
    return topology.error();
  }
  auto binding = decide_binding(binding_request(*options, mode), *topology, snapshot, workers);
  if (!binding) {
    return binding.error();
  }
  job.binding = std::move(*binding);
  return {};
}

/// torchrun's workers find the signals that were asked for.
void pass_stop_signals(ChosenMode& mode, const Options& options) {
  const auto parameter = mode.parameters.find("signals_to_handle");
  if (options.stop_signals && parameter != mode.parameters.end()) {
    parameter->second = {options.run.stop_signals.to_text(), *options.stop_signals};
  }
}

}  // namespace

Result<Planned> plan_job(const CommandLine& line, Options& options, const Snapshot& snapshot) {
  JobRequest& job = options.job;
  if (options.is_worker_already) {
    Planned planned{make_worker_plan(job, snapshot), std::nullopt, std::nullopt};
    for (const Source& source : options.ignored) {
      planned.plan.remarks.push_back("ignoring " + source.name + ": this is a worker already");
    }
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
  pass_stop_signals(*mode, options);
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
  if (auto bound = bind_job(job, options.binding, mode->mode.name, snapshot, cluster->node.slots);
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
