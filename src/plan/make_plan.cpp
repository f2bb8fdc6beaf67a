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

/// How many processes of a role each node has.
std::vector<int> counts_per_node(RoleCount count, const Cluster& cluster) {
  std::vector<int> counts = cluster.slots;
  if (count == RoleCount::PerNode) {
    std::fill(counts.begin(), counts.end(), 1);
  } else if (count == RoleCount::PerJob) {
    std::fill(counts.begin(), counts.end(), 0);
    counts.front() = 1;
  }
  return counts;
}

/// Where the processes of one role stand: on this node, before this node, in the whole job.
struct RolePlace {
  int here = 0;
  int before = 0;  ///< processes of this role on nodes of lower rank
  int total = 0;
};

RolePlace place_role(const RoleTemplate& role, const Cluster& cluster) {
  const std::vector<int> counts = counts_per_node(role.count, cluster);
  const auto here = counts.begin() + cluster.node_rank.value;
  return {*here,
          std::accumulate(counts.begin(), here, 0),
          std::accumulate(counts.begin(), counts.end(), 0)};
}

/// What is the same for all workers of this node.
Values common_values(const Cluster& cluster, int world_size, int local_world_size, int cores) {
  Values values = {{"nodes", std::to_string(cluster.nodes)},
                   {"node_rank", to_string(cluster.node_rank)},
                   {"world_size", std::to_string(world_size)},
                   {"local_world_size", std::to_string(local_world_size)},
                   {"master_address", cluster.master_address},
                   {"job_id", cluster.job_id},
                   {"attempt", "0"},
                   {"max_restarts", "0"},
                   {"cores_per_worker", std::to_string(std::max(1, cores / local_world_size))}};
  if (cluster.master_port) {
    values["worker_port"] = std::to_string(*cluster.master_port);
  }
  return values;
}

std::string log_path(const JobRequest& job, const std::string& name) {
  const std::string relative = "attempt_0/" + name;
  return job.log_dir.empty() ? relative : job.log_dir + "/" + relative;
}

/// Everything that the workers of one role share while they are planned.
struct RolePlan {
  const RoleTemplate& role;
  const JobRequest& job;
  const Snapshot& snapshot;
  std::vector<std::string> unset;  ///< inherited variables that no worker of the role gets
};

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
  worker.log = log_path(shared.job, role.name + "_" + values.at("global_rank"));
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
    WorkerPlan worker = plan_worker(shared, values);
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
  plan.decisions.push_back({"OMP_NUM_THREADS", threads->second, snapshot.cores.source});
  return ", OMP_NUM_THREADS=" + threads->second + " (" +
         count_of(static_cast<std::size_t>(snapshot.cores.count), "allowed core") + " / " +
         count_of(plan.workers.size(), "worker") + ")";
}

/// The one line at the start: who we think we are.
void remark_start(LaunchPlan& plan, const Snapshot& snapshot) {
  const std::string leader = plan.nodes > 1 ? ", leader " + plan.master_address + ":" +
                                                  std::to_string(plan.master_port.value_or(0))
                                            : std::string();
  plan.remarks.push_back(
      plan.platform + ": node " + to_string(plan.node_rank) + " of " + std::to_string(plan.nodes) +
      ", " + count_of(plan.workers.size(), "worker") + " here, " + std::to_string(plan.world_size) +
      " in the job" + leader + describe_threads(plan, snapshot));
}

std::vector<PlannedFile> plan_files(const ModeTemplate& mode, const Values& values) {
  std::vector<PlannedFile> files;
  for (const FileTemplate& file : mode.files) {
    files.push_back(
        {fill_placeholders(file.path, values), file.mode, fill_placeholders(file.content, values)});
  }
  return files;
}

}  // namespace

LaunchPlan make_plan(const Cluster& cluster,
                     const ChosenMode& chosen,
                     const JobRequest& job,
                     const Snapshot& snapshot) {
  LaunchPlan plan;
  plan.platform = cluster.platform;
  plan.mode = chosen.mode.name;
  plan.nodes = cluster.nodes;
  plan.node_rank = cluster.node_rank;
  plan.hosts = cluster.hosts;
  plan.slots = cluster.slots;
  plan.master_address = cluster.master_address;
  plan.master_port = cluster.master_port;
  plan.decisions = cluster.decisions;
  plan.decisions.push_back({"mode", plan.mode, chosen.source});

  std::vector<RolePlace> places;
  int world_size = 0;
  int local_world_size = 0;
  for (const RoleTemplate& role : chosen.mode.roles) {
    places.push_back(place_role(role, cluster));
    world_size += places.back().total;
    local_world_size += places.back().here;
  }
  const Values values =
      common_values(cluster, world_size, std::max(1, local_world_size), snapshot.cores.count);

  plan.world_size = 0;  // grows role by role: the first rank of the next role
  const std::vector<std::string> own = own_variables(snapshot);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const RoleTemplate& role = chosen.mode.roles[i];
    RolePlan shared{role, job, snapshot, own};
    shared.unset.insert(shared.unset.end(), role.unset.begin(), role.unset.end());
    plan_role(plan, shared, places[i], values);
    plan.world_size += places[i].total;
  }
  plan.files = plan_files(chosen.mode, values);
  remark_start(plan, snapshot);
  return plan;
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
  worker.log = log_path(job, "worker_" + to_string(worker.global_rank));
  plan.workers.push_back(std::move(worker));
  return plan;
}

}  // namespace muster
