// Makes the plan from the cluster, the job and a template, and fills values that are known only at start. Pure.
#include "plan/make_plan.hpp"

#include "base/endpoint.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/snapshot.hpp"
#include "plan/plan_document.hpp"

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

bool is_numeric(const std::string& address) {
  const bool is_version_6 = address.find(':') != std::string::npos;
  return is_version_6 || address.find_first_not_of("0123456789.") == std::string::npos;
}

/// The position of this host among the hosts: by the platform, else by the gang, if the gang has counted as many
/// tasks here as the platform. Otherwise each task counts as a host.
HostPlace host_place(const Cluster& cluster, const Placement& placement) {
  const auto& share = cluster.share;
  if (share && share->host_rank && share->hosts) {
    return {*share->host_rank, *share->hosts, share->local_size.value};
  }
  const bool is_counted = share && placement.host.tasks == share->local_size.value;
  return is_counted ? placement.host : HostPlace{placement.node_rank.value, placement.nodes, 1};
}

/// The placeholder values that all workers of this node share.
Values common_values(const PlanInput& input, const Placement& placement) {
  const Cluster& cluster = input.cluster;
  const Snapshot& snapshot = input.snapshot;
  Values values = {{"nodes", std::to_string(placement.nodes)},
                   {"node_rank", to_string(placement.node_rank)},
                   {"node_slots", std::to_string(placement.slots_here)},
                   {"host_name", snapshot.host_name},
                   {"python", snapshot.variable("PYTHON_EXEC").value_or("python3")},
                   {"master_address", placement.master_address},
                   {"leader_address", placement.master_address},
                   {"job_id", cluster.job.job_id},
                   {"job_name", cluster.job.job_id == kNoJobId ? "job" : cluster.job.job_id},
                   {"agent_store", input.job.hosts_store ? "True" : "False"},
                   {"attempt", std::to_string(placement.attempt)},
                   {"restarts", std::to_string(placement.restarts)},
                   {"max_restarts", std::to_string(placement.max_restarts)}};
  if (cluster.job.job_id != kNoJobId || placement.nodes > 1) {
    values["run_id"] = cluster.job.job_id;  // otherwise a unique one is made at start
  }
  if (placement.worker_port) {
    values["worker_port"] = std::to_string(*placement.worker_port);
  }
  // With several nodes the leader sends a numeric address, which is not known before.
  const bool is_known = placement.nodes > 1 || is_numeric(placement.master_address);
  values["master_ip"] = is_known ? placement.master_address : "127.0.0.1";
  if (placement.nodes == 1) {
    values["own_address"] = "";  // no other node has to reach it
    values["own_interface"] = "";
  }
  values["master_endpoint"] = join_endpoint(placement.master_address, fill_placeholders("{worker_port}", values));
  const HostPlace host = host_place(cluster, placement);
  values["host_rank"] = std::to_string(host.rank);
  values["host_count"] = std::to_string(host.hosts);
  add_mpirun_values(values, placement, snapshot, input.job.exported, input.mode.mpirun);
  for (const auto& [name, value] : input.mode.parameters) {
    values[name] = value.value;
  }
  return values;
}

void add_sizes(Values& values, const ModeTemplate& mode, const std::vector<RolePlace>& places, const HostTasks& part) {
  int world_size = 0;
  std::size_t local_world_size = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    world_size += places[i].total;
    local_world_size += places[i].here.size();
    values[std::string(kCountOf) + ":" + mode.roles[i].name] = std::to_string(places[i].total);
  }
  const int local = std::max(1, static_cast<int>(local_world_size));
  values["world_size"] = std::to_string(world_size);
  values["local_world_size"] = std::to_string(local * part.share.local_size.value);
  values["cores_per_worker"] = std::to_string(std::max(1, part.cores / local));
}

/// All texts of the job in which placeholders are filled, on any node.
std::vector<std::string> all_texts(const ModeTemplate& mode, const JobRequest& job) {
  std::vector<std::string> texts = texts_of(mode);
  if (job.fills_arguments) {
    texts.insert(texts.end(), job.program.begin(), job.program.end());
  }
  return texts;
}

/// The services that the template names, and those for placeholders in the texts and for files.
std::vector<std::string> find_services(const ModeTemplate& mode, const std::vector<std::string>& texts,
                                       const JobRequest& job, bool takes_table) {
  std::vector<std::string> services = mode.services;
  const auto add = [&](const char* name, bool is_needed) {
    if (is_needed && !contains(services, name)) {
      services.emplace_back(name);
    }
  };
  add(kWorkerPortService, use_worker_port(texts));
  add(kTorchStoreService, job.hosts_store.has_value() && use_placeholder(texts, "agent_store"));
  add(kPlannedFilesService, !mode.files.empty() || takes_table);
  return services;
}

/// True in a job whose processes get a rank table, now or at their start.
bool takes_table(const PlanInput& input, const std::vector<std::string>& texts) {
  return use_placeholder(texts, kOwnRankTable) && reads_table(input);
}

std::vector<PlannedFile> plan_files(const ModeTemplate& mode, const Values& values) {
  return mapped(mode.files, [&](const FileTemplate& file) {
    return PlannedFile{fill_placeholders(file.path, values), file.mode, fill_placeholders(file.content, values),
                       file.is_private};
  });
}

/// Starts a plan with the nodes of the job.
LaunchPlan start_plan(const Cluster& cluster, const Placement& placement) {
  LaunchPlan plan;
  plan.cluster = cluster;
  plan.placement = placement;
  if (cluster.job.total_slots) {  // at most one node per worker, but fewer in fact
    plan.cluster.hosts.resize(static_cast<std::size_t>(placement.nodes));
    plan.cluster.slots.resize(static_cast<std::size_t>(placement.nodes));
  }
  return plan;
}

/// True for a role that decides success: by the user's choice, else by the template.
bool decides(const RoleTemplate& role, const JobRequest& job, const Values& values) {
  const auto& wanted = job.success_roles;
  if (!wanted.empty()) {
    return contains(wanted, role.name);
  }
  const auto without = values.find(std::string(kCountOf) + ":" + role.decides_only_without_role);
  return role.decides_success && (without == values.end() || without->second == "0");
}

/// A job without a deciding process would never succeed, so all processes decide. Counts those of the whole job,
/// because a single node may have none.
void decide_by_all_if_none_does(LaunchPlan& plan, const ModeTemplate& mode, const JobRequest& job,
                                const Values& values) {
  const bool has_deciding = std::ranges::any_of(mode.roles, [&](const RoleTemplate& role) {
    return decides(role, job, values) && values.at(std::string(kCountOf) + ":" + role.name) != "0";
  });
  for (WorkerPlan& worker : plan.workers) {
    worker.decides_success = worker.decides_success || !has_deciding;
    // sshd does not exit with the ranks that it started.
    worker.ends_with_ranks = worker.is_unranked && (worker.decides_success || !plan.needs_service(kSshService));
  }
}

/// Adds the mode, and the devices that the processes see.
void add_mode(LaunchPlan& plan, const ChosenMode& chosen, const JobRequest& job) {
  plan.mode = chosen.mode.name;
  if (const auto& devices = job.devices) {
    plan.cluster.decisions.push_back({devices->variable, devices->list, devices->source.name});
  }
  plan.cluster.decisions.push_back({"mode", plan.mode, chosen.source.name});
  plan.parameters = chosen.parameters;
  // Keeps the parameters that differ from the template's defaults.
  Parameters given = plan.parameters;
  for (const Parameter& parameter : chosen.mode.parameters) {
    if (given[parameter.name] == Sourced<std::string>{parameter.otherwise, {}}) {
      given.erase(parameter.name);
    }
  }
  for (const auto& [name, value] : given) {
    plan.cluster.decisions.push_back({name, value.value, value.source.name});
  }
}

/// The inherited variables that are muster's own options; no worker gets them.
std::vector<std::string> own_variables(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& [name, value] : snapshot.variables) {
    // Workers get the marker, which process/ sets, and the variables for talking to the job.
    const bool is_for_workers = name == kMarkerVariable || contains(kWorkerVariables, name);
    if (name.starts_with("MUSTER_") && !is_for_workers) {
      names.push_back(name);
    }
  }
  return names;
}

/// Fills the fields of a role that do not depend on the process.
void fill_role_plan(RolePlan& shared, const Values& values) {
  const RoleTemplate& role = shared.role;
  const PlanInput& input = shared.input;
  shared.decides_success = decides(role, input.job, values);
  if (role.count == RoleCount::PerDevice && input.cluster.job.roles.empty()) {
    shared.named = shared.placement.role;
  }
  shared.devices = runtime_devices(input);
  if (!shared.part.is_shared) {
    shared.slots = find_slots(input.cluster, shared.placement);
  }
  shared.unset = own_variables(input.snapshot);
  shared.unset.insert(shared.unset.end(), role.unset.begin(), role.unset.end());
}

/// True where the nodes exchange their numbers of processes for each other and for services.
bool exchanges_sizes(const LaunchPlan& plan, const std::vector<std::string>& texts) {
  return plan.needs_service(kPmixService) || plan.needs_service(kSshService) || use_placeholder(texts, "cross_rank") ||
         use_placeholder(texts, "cross_size");
}

void add_notices(LaunchPlan& plan, const PlanInput& input, const std::string& cores_text,
                 const std::vector<std::string>& texts) {
  add_start_notice(plan, input, cores_text);
  const std::vector<std::string>& notices = input.cluster.notices;
  plan.notices.insert(plan.notices.end(), notices.begin(), notices.end());
  add_taskd_notice(plan, input.snapshot);
  add_binding_notice(plan, input.job);
  add_interface_notice(plan, texts, input.snapshot);
}

}  // namespace

Placement assume_placement(const Cluster& cluster) {
  Placement placement;
  placement.max_restarts = cluster.max_restarts;
  placement.node_rank = cluster.assumed_rank();
  placement.slots_here = cluster.node.slots;
  placement.master_address = cluster.master_address;
  placement.worker_port = cluster.worker_port;
  const int rank = placement.node_rank.value;
  const int here = placement.slots_here;
  if (const auto total = cluster.job.total_slots) {  // as many nodes as that takes if all are alike
    const int alike = (*total + here - 1) / here;
    placement.nodes = std::clamp(std::max(rank + 1, alike), cluster.job.least_nodes, cluster.job.most_nodes);
    placement.slots_before = static_cast<int>(std::min<long long>(static_cast<long long>(rank) * here, *total - here));
    placement.slots_total = *total;
    return placement;
  }
  const auto own = cluster.slots.begin() + rank;
  placement.nodes = cluster.job.most_nodes;
  placement.slots_before = std::accumulate(cluster.slots.begin(), own, 0);
  placement.slots_total = std::accumulate(own, cluster.slots.end(), placement.slots_before);
  return placement;
}

LaunchPlan make_plan(const PlanInput& input, const Placement& placement) {
  const auto& [cluster, chosen, job, snapshot, ranked, generated] = input;
  LaunchPlan plan = start_plan(cluster, placement);
  add_mode(plan, chosen, job);
  std::vector<RolePlace> places = place_roles(chosen.mode, cluster, placement);
  apply_ranks(places, input);
  const std::vector<RoleEndpoints> endpoints = find_endpoints(chosen.mode, cluster, placement);
  Values values = common_values(input, placement);
  const HostTasks part = find_host_tasks(input);
  add_sizes(values, chosen.mode, places, part);
  // Adds the endpoints of each role. Until the nodes have met, a mark takes their place; a role without processes ends
  // up without endpoints.
  const bool is_known = placement.is_decided || !endpoints.empty();
  for (const RoleTemplate& role : chosen.mode.roles) {
    const std::string name = std::string(kEndpointsOf) + ":" + role.name;
    if (role.listens) {
      values[name] = is_known ? "" : mark_deferred(name);
    }
  }
  for (const RoleEndpoints& list : endpoints) {
    values[std::string(kEndpointsOf) + ":" + list.role] = join(list.endpoints, ",");
  }
  const std::vector<std::string> texts = all_texts(chosen.mode, job);
  const bool has_table = ranked || takes_table(input, texts);
  plan.services = find_services(chosen.mode, texts, job, has_table);
  plan.needs_run_folder = use_placeholder(texts, "run_dir") || has_table;
  plan.needs_shared_memory = use_placeholder(texts, "shm_dir");
  plan.exchanges_sizes = exchanges_sizes(plan, texts);
  add_mpi(plan, values);
  plan.needs_secret = use_placeholder(texts, "job_secret") || !plan.mpi_job.empty();
  plan.awaits_table = awaits_table(input, has_table);
  values[kOwnRankTable] = has_table ? fill_placeholders("{run_dir}/jobstart_hccl.json", values) : "";

  const std::string log_folder = name_log_folder(job, placement.attempt, fill_placeholders("{run_id}", values));
  plan.world_size = 0;  // incremented per role: the first rank of the next role
  for (std::size_t i = 0; i < places.size(); ++i) {
    RolePlan shared{chosen.mode.roles[i], input, placement, endpoints, part, log_folder};
    fill_role_plan(shared, values);
    plan_role(plan, shared, places[i], values);
    plan.world_size += places[i].total;
  }
  decide_by_all_if_none_does(plan, chosen.mode, job, values);
  name_node_files(plan, job, log_folder);
  plan.files = plan_files(chosen.mode, values);
  if (ranked) {  // a copy, because the controller's table may change, or have an older format
    plan.files.push_back({values.at(kOwnRankTable), "0640", ranked->text, /*is_private=*/true});
  }
  add_notices(plan, input, part.cores_text, texts);
  return plan;
}

LaunchPlan make_plan(const PlanInput& input) {
  return make_plan(input, assume_placement(input.cluster));
}

bool is_plan_for(const LaunchPlan& plan, const Placement& placement) {
  Placement expected = plan.placement;
  expected.worker_port = placement.worker_port;
  expected.is_decided = placement.is_decided;
  const bool needs_facts_of_nodes = plan.exchanges_sizes || plan.needs_secret || plan.awaits_table ||
                                    std::ranges::any_of(plan.workers, &WorkerPlan::listens);
  return placement.nodes == 1 && expected == placement && !needs_facts_of_nodes;
}

// Fills the values that are known only when an attempt starts, in each text of a plan that came from the template.

void fill_deferred(LaunchPlan& plan, const std::map<std::string, std::string>& values) {
  const auto fill = [&](std::string& text) { text = fill_late(text, values); };
  for (std::string* const text : {&plan.chosen_lines.out, &plan.chosen_lines.err, &plan.stacks_file, &plan.on_hang_file,
                                  &plan.preflight_file, &plan.mpi_job}) {
    fill(*text);
  }
  for (PlannedFile& file : plan.files) {
    fill(file.path);
    fill(file.content);
  }
  for (WorkerPlan& worker : plan.workers) {
    for (auto& [name, value] : worker.environment) {
      fill(value);
    }
    std::ranges::for_each(worker.argv, fill);
    for (std::string* const text :
         {&worker.error_file, &worker.log.out, &worker.log.err, &worker.working_directory, &worker.label}) {
      fill(*text);
    }
  }
}

// Makes the plan inside another launcher's worker.

LaunchPlan make_worker_plan(const JobRequest& job, const Snapshot& snapshot) {
  const auto number = [&](const char* name, int otherwise) {
    return parse_integer(snapshot.variable(name).value_or(""), 0, 1'000'000'000).value_or(otherwise);
  };
  const std::string local_rank = *snapshot.variable("LOCAL_RANK");
  const std::string local_world_size = *snapshot.variable("LOCAL_WORLD_SIZE");
  LaunchPlan plan;
  plan.is_transparent = true;
  plan.cluster.platform = "worker";
  plan.mode = "none";
  plan.cluster.node.rank = NodeRank{0};
  plan.cluster.hosts = {std::nullopt};
  plan.cluster.slots = {1};
  plan.placement.master_address = snapshot.variable("MASTER_ADDR").value_or("");
  if (const auto port = parse_integer(snapshot.variable("MASTER_PORT").value_or(""), 1, kMostPort)) {
    plan.cluster.master_port = static_cast<std::uint16_t>(*port);
  }
  plan.world_size = number("WORLD_SIZE", 1);
  plan.cluster.decisions = {{"platform", "worker", "LOCAL_RANK and LOCAL_WORLD_SIZE"},
                            {"nodes.slots", "1", "LOCAL_RANK and LOCAL_WORLD_SIZE"}};
  plan.notices = {"already a worker of another launcher (LOCAL_RANK=" + local_rank +
                  ", LOCAL_WORLD_SIZE=" + local_world_size +
                  "): starting one process with the environment unchanged; --nproc-per-node overrides this"};
  WorkerPlan worker;
  worker.role = "worker";
  worker.global_rank = GlobalRank{number("RANK", 0)};
  worker.local_rank = LocalRank{number("LOCAL_RANK", 0)};
  worker.argv = job.program;
  worker.script = job.script;
  worker.unset = own_variables(snapshot);
  worker.working_directory = snapshot.working_directory;
  const std::string log_folder = name_log_folder(job, plan.placement.attempt, mark_deferred("run_id"));
  worker.log = name_logs(
      job, log_folder, {.name = "worker_" + to_string(worker.global_rank), .local_rank = to_string(worker.local_rank)});
  plan.workers.push_back(std::move(worker));
  name_node_files(plan, job, log_folder);
  return plan;
}

}  // namespace muster
