// Joins the cluster, the job and a template into the plan. Pure.
#include <muster/base/text.hpp>
#include <muster/environment/marker.hpp>
#include <muster/plan/launch_plan.hpp>

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

using Values = std::map<std::string, std::string>;

/// Nothing of muster's own may reach a worker but the marker, which run/ adds.
bool is_own_variable(const std::string& name) {
  return name.starts_with("MUSTER_") && name != kMarkerVariable;
}

std::vector<std::string> own_variables(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& [name, value] : snapshot.variables) {
    if (is_own_variable(name)) {
      names.push_back(name);
    }
  }
  return names;
}

/// Where the processes of one role stand: on this node, before this node, in the whole job.
struct RolePlace {
  int here = 0;
  int before = 0;  ///< processes of this role on nodes of lower rank
  int total = 0;
};

RolePlace place_role(const RoleTemplate& role, const Placement& placement) {
  const int rank = placement.node_rank.value;
  switch (role.count) {
    case RoleCount::None:
      return {};
    case RoleCount::PerNode:
      return {1, rank, placement.nodes};
    case RoleCount::PerJob:  // on the node with rank 0
      return {rank == 0 ? 1 : 0, rank == 0 ? 0 : 1, 1};
    case RoleCount::PerDevice:
      break;
  }
  return {placement.slots_here, placement.slots_before, placement.slots_total};
}

/// What is the same for all workers of this node.
Values common_values(const Placement& placement, const std::string& job_id) {
  Values values = {{"nodes", std::to_string(placement.nodes)},
                   {"node_rank", to_string(placement.node_rank)},
                   {"master_address", placement.master_address},
                   {"job_id", job_id},
                   {"attempt", std::to_string(placement.attempt)},
                   {"max_restarts", std::to_string(placement.max_restarts)}};
  if (placement.worker_port) {
    values["worker_port"] = std::to_string(*placement.worker_port);
  }
  return values;
}

void add_sizes(Values& values, const std::vector<RolePlace>& places, int cores) {
  int world_size = 0;
  int local_world_size = 0;
  for (const RolePlace& place : places) {
    world_size += place.total;
    local_world_size += place.here;
  }
  local_world_size = std::max(1, local_world_size);
  values["world_size"] = std::to_string(world_size);
  values["local_world_size"] = std::to_string(local_world_size);
  values["cores_per_worker"] = std::to_string(std::max(1, cores / local_world_size));
}

std::string log_path(const JobRequest& job, int attempt, const std::string& name) {
  const std::string relative = "attempt_" + std::to_string(attempt) + "/" + name;
  return job.log_dir.empty() ? relative : job.log_dir + "/" + relative;
}

/// Everything that the workers of one role share while they are planned.
struct RolePlan {
  const RoleTemplate& role;
  const JobRequest& job;
  const Snapshot& snapshot;
  int attempt = 0;
  int cores_per_worker = 1;
  std::vector<std::string> unset;  ///< inherited variables that no worker of the role gets
};

/// How the process is bound that is number `place` of its role on this node.
std::optional<CpuBinding> binding_of(const RolePlan& shared, std::size_t place) {
  if (!shared.job.binding) {
    return std::nullopt;
  }
  const NodeBinding& node = *shared.job.binding;
  if (const auto role = node.roles.find(shared.role.name); role != node.roles.end()) {
    return role->second;
  }
  const bool has_device = shared.role.count == RoleCount::PerDevice && place < node.devices.size();
  return has_device ? node.devices[place] : std::nullopt;
}

/// More threads than CPUs would only wait for each other.
int cores_for(const RolePlan& shared, const std::optional<CpuBinding>& binding) {
  const auto bound = binding ? static_cast<int>(binding->cpus.size()) : 0;
  return bound > 0 ? std::min(bound, shared.cores_per_worker) : shared.cores_per_worker;
}

void bind(WorkerPlan& worker, const RolePlan& shared, std::optional<CpuBinding> binding) {
  if (shared.job.binding) {
    worker.environment.insert(shared.job.binding->variables.begin(),
                              shared.job.binding->variables.end());
  }
  if (binding) {
    worker.environment.insert(binding->variables.begin(), binding->variables.end());
  }
  worker.binding = std::move(binding);
}

WorkerPlan plan_worker(const RolePlan& shared, const Values& values) {
  const RoleTemplate& role = shared.role;
  WorkerPlan worker;
  worker.error_file = values.at("error_file");
  worker.role = role.name;
  worker.decides_success = role.decides_success;
  worker.argv = shared.job.program;
  worker.script = shared.job.script;
  for (const std::string& argument : role.arguments) {
    worker.argv.push_back(fill_placeholders(argument, values));
    ++worker.template_arguments;
  }
  for (const auto& [name, text] : role.environment) {
    worker.environment[name] = fill_placeholders(text, values);
  }
  for (const auto& [name, text] : role.environment_unless_set) {
    if (!shared.snapshot.has(name)) {
      worker.environment[name] = fill_placeholders(text, values);
    }
  }
  worker.unset = shared.unset;
  worker.working_directory = shared.snapshot.working_directory;
  worker.log = log_path(shared.job, shared.attempt, role.name + "_" + values.at("global_rank"));
  return worker;
}

void plan_role(LaunchPlan& plan, const RolePlan& shared, const RolePlace& place, Values values) {
  values["role"] = shared.role.name;
  values["role_world_size"] = std::to_string(place.total);
  for (int i = 0; i < place.here; ++i) {
    const int role_rank = place.before + i;
    const int global_rank = plan.world_size + role_rank;
    const int local_rank = static_cast<int>(plan.workers.size());
    values["role_rank"] = std::to_string(role_rank);
    values["global_rank"] = std::to_string(global_rank);
    values["local_rank"] = std::to_string(local_rank);
    values.erase("error_file");  // the one before: the file's own name cannot hold it
    values["error_file"] = fill_placeholders(shared.role.error_file, values);
    std::optional<CpuBinding> binding = binding_of(shared, static_cast<std::size_t>(i));
    values["cores_per_worker"] = std::to_string(cores_for(shared, binding));
    WorkerPlan worker = plan_worker(shared, values);
    bind(worker, shared, std::move(binding));
    worker.global_rank = GlobalRank{global_rank};
    worker.local_rank = LocalRank{local_rank};
    plan.workers.push_back(std::move(worker));
  }
}

/// The thread count that muster chose for the workers; it decides how fast they compute, so it is
/// said. Nothing when it was inherited.
std::string describe_threads(LaunchPlan& plan, const Snapshot& snapshot) {
  if (plan.workers.empty()) {
    return {};
  }
  const auto threads = plan.workers.front().environment.find("OMP_NUM_THREADS");
  if (threads == plan.workers.front().environment.end()) {
    return {};
  }
  const std::string count = readable(threads->second);
  plan.decisions.push_back({"OMP_NUM_THREADS", count, snapshot.cores.source});
  const auto& binding = plan.workers.front().binding;
  if (binding && std::to_string(binding->cpus.size()) == count) {
    return ", OMP_NUM_THREADS=" + count + " (the CPUs that each is bound to)";
  }
  return ", OMP_NUM_THREADS=" + count + " (" +
         count_of(static_cast<std::size_t>(snapshot.cores.count), "allowed core") + " / " +
         count_of(plan.workers.size(), "worker") + ")";
}

/// "node 1 of 2", "node 1 of 2 to 4"; where the rank is open, "one of 2 nodes".
std::string describe_node(const LaunchPlan& plan) {
  const std::string nodes =
      (plan.least_nodes < plan.nodes ? std::to_string(plan.least_nodes) + " to " : "") +
      std::to_string(plan.nodes);
  return plan.has_node_rank ? "node " + to_string(plan.node_rank) + " of " + nodes
                            : "one of " + nodes + " nodes";
}

/// The one line at the start: who we think we are. How many workers the whole job has is not known
/// before all nodes have met.
void remark_start(LaunchPlan& plan, const Snapshot& snapshot) {
  const std::string others =
      plan.nodes > 1 ? ", leader " + plan.master_address + ":" + std::to_string(plan.gang_port)
                     : ", " + std::to_string(plan.world_size) + " in the job";
  plan.remarks.push_back(plan.platform + ": " + describe_node(plan) + ", " +
                         count_of(plan.workers.size(), "worker") + " here" + others +
                         describe_threads(plan, snapshot));
}

/// What is odd about the binding, and a binding that no process of this node has.
void remark_binding(LaunchPlan& plan, const JobRequest& job) {
  if (!job.binding) {
    return;
  }
  plan.remarks.insert(plan.remarks.end(), job.binding->remarks.begin(), job.binding->remarks.end());
  for (const WorkerPlan& worker : plan.workers) {
    if (worker.binding) {
      plan.decisions.push_back({"binding[" + to_string(worker.local_rank) + "]",
                                describe_ranges(worker.binding->cpus),
                                worker.binding->how});
    }
  }
  const bool is_bound =
      std::any_of(plan.workers.begin(), plan.workers.end(), [](const WorkerPlan& worker) {
        return worker.binding.has_value();
      });
  if (!is_bound) {
    plan.remarks.emplace_back(
        "no process of this node is bound to CPUs: none stands for one accelerator, or is named");
  }
}

std::vector<PlannedFile> plan_files(const ModeTemplate& mode, const Values& values) {
  std::vector<PlannedFile> files;
  for (const FileTemplate& file : mode.files) {
    files.push_back(
        {fill_placeholders(file.path, values), file.mode, fill_placeholders(file.content, values)});
  }
  return files;
}

/// What the cluster and the placement say about the nodes.
LaunchPlan start_plan(const Cluster& cluster, const Placement& placement) {
  LaunchPlan plan;
  plan.platform = cluster.platform;
  plan.attempt = placement.attempt;
  plan.nodes = placement.nodes;
  plan.least_nodes = cluster.least_nodes;
  plan.node_rank = placement.node_rank;
  plan.has_node_rank = cluster.has_node_rank;
  plan.hosts = cluster.hosts;
  plan.slots = cluster.slots;
  plan.master_address = placement.master_address;
  plan.master_port = cluster.master_port;
  plan.gang_port = cluster.gang_port;
  plan.decisions = cluster.decisions;
  return plan;
}

void decide_by_all_if_none_does(LaunchPlan& plan, const ModeTemplate& mode) {
  const auto decides = [](const RoleTemplate& role) { return role.decides_success; };
  if (std::any_of(mode.roles.begin(), mode.roles.end(), decides)) {
    return;
  }
  for (WorkerPlan& worker : plan.workers) {
    worker.decides_success = true;
  }
}

}  // namespace

Placement assume_placement(const Cluster& cluster) {
  const auto here = cluster.slots.begin() + cluster.node_rank.value;
  Placement placement;
  placement.max_restarts = cluster.max_restarts;
  placement.nodes = cluster.nodes;
  placement.node_rank = cluster.node_rank;
  placement.slots_here = *here;
  placement.slots_before = std::accumulate(cluster.slots.begin(), here, 0);
  placement.slots_total = std::accumulate(here, cluster.slots.end(), placement.slots_before);
  placement.master_address = cluster.master_address;
  placement.worker_port = cluster.worker_port;
  return placement;
}

LaunchPlan make_plan(const Cluster& cluster,
                     const Placement& placement,
                     const ChosenMode& chosen,
                     const JobRequest& job,
                     const Snapshot& snapshot) {
  LaunchPlan plan = start_plan(cluster, placement);
  plan.mode = chosen.mode.name;
  plan.decisions.push_back({"mode", plan.mode, chosen.source});

  std::vector<RolePlace> places;
  for (const RoleTemplate& role : chosen.mode.roles) {
    places.push_back(place_role(role, placement));
  }
  Values values = common_values(placement, cluster.job_id);
  add_sizes(values, places, snapshot.cores.count);

  plan.world_size = 0;  // grows role by role: the first rank of the next role
  const std::vector<std::string> own = own_variables(snapshot);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const RoleTemplate& role = chosen.mode.roles[i];
    RolePlan shared{
        role, job, snapshot, placement.attempt, std::stoi(values.at("cores_per_worker")), own};
    shared.unset.insert(shared.unset.end(), role.unset.begin(), role.unset.end());
    plan_role(plan, shared, places[i], values);
    plan.world_size += places[i].total;
  }
  decide_by_all_if_none_does(plan, chosen.mode);
  plan.files = plan_files(chosen.mode, values);
  remark_start(plan, snapshot);
  remark_binding(plan, job);
  return plan;
}

LaunchPlan make_plan(const Cluster& cluster,
                     const ChosenMode& chosen,
                     const JobRequest& job,
                     const Snapshot& snapshot) {
  return make_plan(cluster, assume_placement(cluster), chosen, job, snapshot);
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
  plan.remarks = {"already a worker of another launcher (LOCAL_RANK=" + local_rank +
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
  worker.log = log_path(job, plan.attempt, "worker_" + to_string(worker.global_rank));
  plan.workers.push_back(std::move(worker));
  return plan;
}

}  // namespace muster
