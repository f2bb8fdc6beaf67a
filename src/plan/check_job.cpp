// Finds requests that the mode or this node cannot satisfy, and writes the notices of a plan for the user.
#include "base/display_text.hpp"
#include "base/lists.hpp"
#include "base/ranks.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "plan/make_plan.hpp"
#include "platforms/cluster.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

namespace muster {

// Notices of a plan: the line at the start, and remarks on anything unusual.

namespace {

/// Says which thread count muster chose for the workers, because it decides their speed. Empty: they inherited one.
std::string describe_threads(LaunchPlan& plan, const Snapshot& snapshot, const std::string& cores) {
  if (plan.workers.empty()) {
    return {};
  }
  const auto threads = plan.workers.front().environment.find("OMP_NUM_THREADS");
  if (threads == plan.workers.front().environment.end()) {
    return {};
  }
  const std::string count = readable(threads->second);
  plan.cluster.decisions.push_back({"OMP_NUM_THREADS", count, snapshot.cores.source});
  const auto& binding = plan.workers.front().binding;
  if (binding && std::to_string(binding->cpus.size()) == count) {
    return ", OMP_NUM_THREADS=" + count + " (the CPUs that each is bound to)";
  }
  return ", OMP_NUM_THREADS=" + count + " (" + cores + " / " + count_of(plan.workers.size(), noun_of(plan.workers)) +
         ")";
}

/// "node 1 of 2", "node 1 of 2 to 4"; where the rank is open, "one of 2 nodes"; for a process placed by the platform
/// "task 9 of 16 (1 of 8 on this host)".
std::string describe_node(const LaunchPlan& plan) {
  const int most = plan.placement.nodes;
  const int least = plan.cluster.job.least_nodes;
  const std::string nodes = (least < most ? std::to_string(least) + " to " : "") + std::to_string(most);
  const std::string rank = to_string(plan.placement.node_rank);
  if (const auto& share = plan.cluster.share) {
    return "task " + rank + " of " + nodes + " (" + std::to_string(share->local_rank.value) + " of " +
           std::to_string(share->local_size.value) + " on this host)";
  }
  return plan.cluster.node.rank ? "node " + rank + " of " + nodes : "one of " + nodes + " nodes";
}

/// The number of workers in the job; for mpirun, which starts the ranks itself, the number of slots.
std::string describe_job(const LaunchPlan& plan) {
  const bool has_ranks = plan.workers.empty() || ProcessNames::of(plan.workers).has_ranks();
  const int slots = std::accumulate(plan.cluster.slots.begin(), plan.cluster.slots.end(), 0);
  return has_ranks ? ", " + std::to_string(plan.world_size) + " in the job"
                   : ", for " + count_of(static_cast<std::size_t>(slots), "rank");
}

}  // namespace

void add_start_notice(LaunchPlan& plan, const PlanInput& input, const std::string& cores) {
  const Snapshot& snapshot = input.snapshot;
  const std::string here = plan.awaits_table ? "as many workers here as the rank table says"
                                             : ProcessNames::of(plan.workers).count(noun_of(plan.workers)) + " here";
  const std::string in_job = plan.awaits_table ? "" : describe_job(plan);
  std::string port = std::to_string(plan.cluster.gang_port);
  if (const auto workers = plan.cluster.worker_port; workers && *workers != plan.cluster.gang_port) {
    port += " (the workers meet at " + std::to_string(*workers) + ")";
  }
  const std::string others =
      plan.placement.nodes > 1 ? ", leader " + plan.placement.master_address + ":" + port : in_job;
  // Names a mode that was detected: ", ranktable by RANK_TABLE_FILE and Ascend devices".
  const ChosenMode& chosen = input.mode;
  const bool is_found = chosen.source.kind == SourceKind::Variable;
  const std::string found_mode = is_found ? ", " + chosen.mode.name + " by " + chosen.source.name : "";
  plan.notices.push_back(plan.cluster.platform + found_mode + ": " + describe_node(plan) + ", " + here + others +
                         (plan.awaits_table ? "" : describe_threads(plan, snapshot, cores)));
  const int devices = count_visible_devices(snapshot);
  const int tasks = plan.cluster.share ? plan.cluster.share->local_size.value : 1;
  if (devices > 1 && devices < tasks) {
    plan.notices.push_back(count_of(static_cast<std::size_t>(tasks), "task") + " on this host share its " +
                           std::to_string(devices) + " accelerators");
  }
  if (is_already_worker(snapshot)) {
    plan.notices.push_back("LOCAL_RANK is '" + snapshot.variable("LOCAL_RANK").value_or("") +
                           "': this is already a worker of another launcher, and starts a job of "
                           "its own, as --nproc-per-node asks");
  }
}

void add_taskd_notice(LaunchPlan& plan, const Snapshot& snapshot) {
  constexpr std::array kSwitches{"TASKD_PROCESS_ENABLE", "PROCESS_RECOVER", "ELASTIC_PROCESS_RECOVER_ENABLE",
                                 "ENABLE_RESTART_FAULT_PROCESS"};
  constexpr std::array<std::string_view, 4> kOff{"", "0", "off", "false"};
  for (const char* const name : kSwitches) {
    const auto value = snapshot.variable(name);
    if (value && !contains(kOff, *value) && plan.placement.node_rank.value == 0) {
      plan.notices.push_back(std::string(name) + " is '" + with_visible_blanks(*value) +
                             "', but MindCluster's TaskD works inside the agents of torchrun and msrun, and does "
                             "nothing under muster");
      return;
    }
  }
}

void add_binding_notice(LaunchPlan& plan, const JobRequest& job) {
  if (!job.binding) {
    return;
  }
  plan.notices.insert(plan.notices.end(), job.binding->notices.begin(), job.binding->notices.end());
  for (const WorkerPlan& worker : plan.workers) {
    if (worker.binding) {
      plan.cluster.decisions.push_back({"binding[" + to_string(worker.local_rank) + "]",
                                        describe_ranges(worker.binding->cpus), worker.binding->how});
    }
  }
  const bool is_bound =
      std::ranges::any_of(plan.workers, [](const WorkerPlan& worker) { return worker.binding.has_value(); });
  if (!is_bound) {
    plan.notices.emplace_back(
        "no process of this node is bound to CPUs: muster binds a process only if it has exactly one accelerator, or "
        "if an option names it");
  }
}

namespace {

/// Longest variable or argument, with its final NUL: Linux's MAX_ARG_STRLEN.
constexpr std::size_t kMostBytes = 131'072;

Result<> check_success_roles(const JobRequest& job, const ModeTemplate& mode) {
  const std::vector<std::string> names = mapped(mode.roles, &RoleTemplate::name);
  for (const std::string& wanted : job.success_roles) {
    if (!contains(names, wanted)) {
      return Error{ErrorKind::BadUsage, "the mode '" + mode.name + "' has no role '" + wanted + "' that could decide" +
                                            did_you_mean(wanted, names, ", only " + join(names, ", "))};
    }
  }
  return {};
}

/// Fails where a role that should decide success, or the whole job, has no process.
Result<> check_processes(const JobRequest& job, const Cluster& cluster, const ModeTemplate& mode) {
  const std::vector<RolePlace> places = place_roles(mode, cluster, assume_placement(cluster));
  int processes = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& wanted = job.success_roles;
    const std::string& name = mode.roles[i].name;
    const bool is_wanted = contains(wanted, name);
    if (is_wanted && places[i].total == 0) {
      return Error{ErrorKind::BadUsage, "'" + name + "' is to decide success, but the job has no process of that role"};
    }
    processes += places[i].total;
  }
  return processes > 0 ? Result<>()
                       : Error{ErrorKind::BadData, "the mode '" + mode.name + "' starts no process at all"};
}

/// The words in braces that may be placeholders: "{global_rank}", "{count:worker}".
std::vector<std::string> words_in_braces(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find_first_of("{}", at + 1);
    const std::string word(text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1));
    const bool is_word =
        std::ranges::all_of(word, [](unsigned char c) { return std::islower(c) != 0 || c == '_' || c == ':'; });
    if (end != std::string_view::npos && text[end] == '}' && !word.empty() && is_word) {
      words.push_back(word);
    }
  }
  return words;
}

/// Fails for a word in braces that is nearly a placeholder, and so probably mistyped. Other words belong to the user.
Result<> check_argument(const std::string& argument, const std::vector<std::string>& known) {
  for (const std::string& word : words_in_braces(argument)) {
    const bool is_known = contains(known, word);
    const auto nearest = is_known ? std::nullopt : nearest_name(word, known);
    if (nearest) {
      std::string message = "the argument '" + argument;
      message += "' has the unknown placeholder '{" + word;
      message += "}'; did you mean '{" + *nearest + "}'?";
      return Error{ErrorKind::BadUsage, std::move(message)};
    }
  }
  return {};
}

Result<> check_arguments(const JobRequest& job, const ModeTemplate& mode) {
  const auto parameters = mapped(mode.parameters, &Parameter::name);
  const auto roles = mapped(mode.roles, &RoleTemplate::name);
  const auto known = placeholder_names({parameters.begin(), parameters.end()}, {roles.begin(), roles.end()});
  for (const std::string& argument : job.program) {
    TRY(check_argument(argument, known));
  }
  return {};
}

/// Fails for placeholders in the user's arguments that only a listening process has.
Result<> check_endpoints(const JobRequest& job, const RoleTemplate& role, const std::string& mode) {
  for (const std::string& word :
       {std::string("endpoint"), std::string("task_config"), std::string(kEndpointsOf) + ":" + role.name}) {
    if (!role.listens && use_placeholder(job.program, word)) {
      std::string message = "an argument has '{" + word;
      message += "}', but '" + role.name + "' of the mode '" + mode + "' does not listen";
      return Error{ErrorKind::BadUsage, std::move(message)};
    }
  }
  return {};
}

/// Checks the placeholders in the program's arguments.
Result<> check_filled_arguments(const JobRequest& job, const ModeTemplate& mode) {
  TRY(check_arguments(job, mode));
  for (const RoleTemplate& role : mode.roles) {
    TRY(check_endpoints(job, role, mode.name));
  }
  return {};
}

Result<> check_devices(const Cluster& cluster, const Snapshot& snapshot) {
  const DeviceMask mask = find_device_mask(snapshot);
  const auto workers = static_cast<std::size_t>(cluster.node.slots);
  const bool sees_one_at_least = cluster.share && !mask.devices.empty();
  if (sees_one_at_least || !mask.is_inherited || mask.devices.size() >= workers) {
    return {};
  }
  return wrong_value({*snapshot.variable(mask.variable), from_variable(mask.variable)},
                     "a device for each of the " + count_of(workers, "worker") + " of this node");
}

/// Fails if a CUDA process would see several MIG parts of a GPU: it uses only the first of its list.
Result<> check_gpu_parts(const PlanInput& input) {
  const DeviceMask mask = find_device_mask(input.snapshot);
  const auto& roles = input.mode.mode.roles;
  const bool is_many = mask.devices.size() > 1 && input.cluster.node.slots > 1;
  const bool has_part =
      std::ranges::any_of(mask.devices, [](const std::string& device) { return device.starts_with("MIG-"); });
  const bool takes_devices =
      std::ranges::any_of(roles, [](const RoleTemplate& role) { return role.count == RoleCount::PerDevice; });
  if (!is_many || !has_part || !takes_devices) {
    return {};
  }
  return wrong_value({*input.snapshot.variable(mask.variable), from_variable(mask.variable)},
                     "one MIG device, as a process of CUDA sees only one; --virtual-local-rank "
                     "shows each worker its own");
}

/// JAX wants one process on each of these hosts, with all cores or chips.
Result<> check_jax(const PlanInput& input) {
  const Cluster& cluster = input.cluster;
  const bool is_counted = !is_given(cluster.slots_from) && cluster.node.slots > 1;
  if (input.mode.mode.name != "jax" || !is_counted) {
    return {};
  }
  const std::string kind = accelerator_kind(input.snapshot);
  if (kind != "neuron" && kind != "tpu") {
    return {};
  }
  return Error{ErrorKind::BadEnvironment,
               "by " + cluster.slots_from.name + " this node has " + std::to_string(cluster.node.slots) +
                   " workers, but a process of JAX takes all of its devices: give --nproc-per-node 1"};
}

/// Fails for a requested store that the mode does not have; a default applies only where it can.
Result<> check_store(const JobRequest& job, const ModeTemplate& mode) {
  const bool has_store = use_placeholder(texts_of(mode), "agent_store");
  if (!job.hosts_store || job.hosts_store->kind == SourceKind::Default || has_store) {
    return {};
  }
  return wrong_value({"agent", *job.hosts_store}, "worker, as the mode '" + mode.name + "' has no store of PyTorch");
}

Error too_long(const std::string& what, std::size_t bytes) {
  return Error{ErrorKind::BadEnvironment, what + " would have " + std::to_string(bytes) +
                                              " bytes, and a process can be given " + std::to_string(kMostBytes)};
}

Result<> check_sizes(const WorkerPlan& worker) {
  for (const auto& [name, value] : worker.environment) {
    const std::size_t bytes = name.size() + value.size() + 2;
    if (bytes > kMostBytes) {
      return too_long(name, bytes);
    }
  }
  for (const std::string& argument : worker.argv) {
    if (argument.size() + 1 > kMostBytes) {
      const std::string start = argument.substr(0, argument.find('=')).substr(0, 40);
      return too_long("the argument '" + start + "'", argument.size() + 1);
    }
  }
  return {};
}

}  // namespace

Result<> check_job(const PlanInput& input) {
  const JobRequest& job = input.job;
  const ModeTemplate& mode = input.mode.mode;
  TRY(check_success_roles(job, mode));
  TRY(check_processes(job, input.cluster, mode));
  TRY(check_store(job, mode));
  TRY(check_jax(input));
  if (job.fills_arguments) {
    TRY(check_filled_arguments(job, mode));
  }
  return job.masks_devices ? check_devices(input.cluster, input.snapshot) : check_gpu_parts(input);
}

Result<> check_sizes(const LaunchPlan& plan) {
  for (const WorkerPlan& worker : plan.workers) {
    TRY(check_sizes(worker));
  }
  return {};
}

Result<> check_files(const LaunchPlan& plan, const PlanInput& input) {
  const std::vector<FileTemplate>& files = input.mode.mode.files;
  std::set<std::filesystem::path> paths;
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const std::string& path = plan.files[i].path;
    const std::filesystem::path whole = input.snapshot.working_directory / std::filesystem::path(path);
    if (!paths.insert(whole.lexically_normal()).second) {
      return Error{ErrorKind::BadData, (i < files.size() ? files[i].place : "the rank table") + " has the path '" +
                                           path + "', as another file has"};
    }
  }
  return {};
}

Result<> check_logs(const LaunchPlan& plan, const std::function<bool(const WorkerPlan&)>& has_files) {
  std::map<std::filesystem::path, const WorkerPlan*> logs;
  for (const WorkerPlan& worker : plan.workers) {
    if (!has_files(worker)) {
      continue;
    }
    const std::filesystem::path path = std::filesystem::path(worker.log.out).lexically_normal();
    const auto [at, is_new] = logs.insert({path, &worker});
    if (!is_new) {
      const WorkerPlan& other = *at->second;
      return Error{ErrorKind::BadData, "the log '" + readable(path.string()) + "' would be written by both " +
                                           describe_rank(other.global_rank, other.role) + " and " +
                                           describe_rank(worker.global_rank, worker.role) +
                                           "; each process needs a log of its own"};
    }
  }
  return {};
}

}  // namespace muster
