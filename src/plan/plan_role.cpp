// Plans each process of a role: arguments, environment, CPUs, devices and log files; and the values for MPI.
#include "base/endpoint.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "modes/agent_call.hpp"
#include "modes/ssh_files.hpp"
#include "plan/make_plan.hpp"
#include "plan/plan_document.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

namespace muster {
namespace {

/// True when each parameter in the text, and the rank table, has a value.
bool is_given(std::string_view text, const ChosenMode& chosen, const Values& values) {
  const bool needs_table = text.find("{" + std::string(kOwnRankTable) + "}") != std::string_view::npos;
  return !(needs_table && values.at(kOwnRankTable).empty()) &&
         std::ranges::all_of(chosen.parameters, [&](const auto& one) {
           return !one.second.value.empty() || text.find("{" + one.first + "}") == std::string_view::npos;
         });
}

/// True when a placeholder in the text has an empty value.
bool needs_empty_value(const std::string& text, const Values& values) {
  return std::ranges::any_of(values,
                             [&](const auto& one) { return one.second.empty() && use_placeholder({text}, one.first); });
}

std::map<std::string, std::string> plan_environment(const RolePlan& shared, const Values& values) {
  std::map<std::string, std::string> environment;
  for (const auto& [name, text] : shared.role.environment) {
    environment[name] = fill_placeholders(text, values);
  }
  for (const auto& [name, text] : shared.role.environment_unless_set) {
    if (!shared.input.snapshot.has(name) && !needs_empty_value(text, values)) {
      environment[name] = fill_placeholders(text, values);
    }
  }
  for (const auto& [name, text] : shared.role.environment_if_given) {
    if (is_given(text, shared.input.mode, values)) {
      environment[name] = fill_placeholders(text, values);
    }
  }
  for (const auto& [name, value] : shared.input.job.unless_set) {
    if (runs_users_program(shared.role) && !shared.input.snapshot.has(name)) {
      environment.emplace(name, value);
    }
  }
  return environment;
}

/// Fills the placeholders in one of the user's arguments, as far as the user enabled that.
std::string fill_argument(std::string argument, const JobRequest& job, const Values& values) {
  if (job.fills_local_rank) {
    replace_all(argument, "${local_rank}", values.at("local_rank"));
  }
  return job.fills_arguments ? fill_known(argument, values) : argument;
}

/// Makes a relative path absolute, from `folder`, for a process that starts in another directory.
std::string absolute_path(const std::string& path, const std::string& folder) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

/// Makes the path of a process's program absolute, too; a name without a slash is searched in PATH.
void resolve_program(WorkerPlan& worker, const std::string& folder) {
  std::string& program = worker.argv.front();
  program = program.find('/') == std::string::npos ? program : absolute_path(program, folder);
}

/// True for a role whose processes have directories of their own.
bool changes_directory(const RolePlan& shared, const Values& values) {
  const std::string& folder = shared.role.working_directory;
  return !folder.empty() && is_given(folder, shared.input.mode, values);
}

/// Scripts that read the platform's TF_CONFIG, or variables that the role names, may not accept the arguments.
bool gives_arguments(const PlanInput& input, const RoleTemplate& role) {
  if (input.job.template_arguments != GiveArguments::Auto) {
    return input.job.template_arguments == GiveArguments::Always;
  }
  const auto& instead = role.arguments_unless_set;
  return !input.cluster.has_task_config &&
         std::ranges::none_of(instead, [&](const std::string& name) { return input.snapshot.has(name); });
}

/// The arguments that the template adds, unless they are disabled.
std::vector<std::string> template_arguments(const RolePlan& shared, const Values& values) {
  if (!gives_arguments(shared.input, shared.role)) {
    return {};
  }
  std::vector<std::string> texts = shared.role.arguments;
  if (shared.placement.nodes > 1) {
    const std::vector<std::string>& more = shared.role.arguments_of_several_nodes;
    texts.insert(texts.end(), more.begin(), more.end());
  }
  return mapped(texts, [&](const std::string& text) { return fill_placeholders(text, values); });
}

/// The command line's program with its arguments. Relative paths are resolved for a process that starts in another
/// directory.
std::vector<std::string> users_program(const RolePlan& shared, const Values& values) {
  const JobRequest& job = shared.input.job;
  auto words = mapped(job.program, [&](const std::string& word) { return fill_argument(word, job, values); });
  if (changes_directory(shared, values)) {
    for (const std::size_t at : job.files.words) {
      words[at] = absolute_path(words[at], shared.input.snapshot.working_directory);
    }
  }
  if (shared.role.arguments_first) {
    const std::size_t first = job.files.arguments.value_or(words.size());
    const std::vector<std::string> added = template_arguments(shared, values);
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(first), added.begin(), added.end());
  }
  return words;
}

/// True for an mpirun that passes this node's variables to the ranks of other nodes.
bool takes_variables_along(const RoleTemplate& role) {
  return contains(role.program, kExports);
}

/// "-x NAME" for the variables of each further program of mpirun; the first program's are among mpirun's options.
std::vector<std::string> exports_for_others(const RolePlan& shared) {
  std::vector<std::string> words;
  for (const auto& [name, value] : shared.input.job.exported) {
    words.insert(words.end(), {"-x", name});
  }
  if (takes_variables_along(shared.role)) {
    const auto inherited = mpi::exports_of(shared.input.snapshot.variables);
    words.insert(words.end(), inherited.begin(), inherited.end());
  }
  return words;
}

/// The further programs of an mpirun command line: each needs its own -x options.
std::vector<std::string> other_programs(const RolePlan& shared, const Values& values) {
  const std::vector<std::string>& programs = shared.input.mode.mpirun.programs;
  const std::vector<std::string> exports = exports_for_others(shared);
  std::vector<std::string> words;
  words.reserve(programs.size());
  for (const std::string& word : programs) {
    words.push_back(word == "{muster}" ? fill_placeholders(word, values) : word);
    if (word == ":") {
      words.insert(words.end(), exports.begin(), exports.end());
    }
  }
  return words;
}

/// The user's program, or the role's own, which may contain it.
std::vector<std::string> plan_program(const RolePlan& shared, const Values& values) {
  const std::vector<std::string> users = users_program(shared, values);
  if (shared.role.program.empty()) {
    return users;
  }
  std::vector<std::string> argv;
  const auto add = [&](const std::vector<std::string>& words) { argv.insert(argv.end(), words.begin(), words.end()); };
  for (const std::string& text : shared.role.program) {
    if (text == kUsersProgram) {
      add(users);
    } else if (text == kMpirunOptions) {
      add(shared.input.mode.mpirun.options);
    } else if (text == kOtherPrograms) {
      add(other_programs(shared, values));
    } else if (text == kExports) {
      add(mpi::exports_of(shared.input.snapshot.variables));
    } else {
      argv.push_back(fill_placeholders(text, values));
    }
  }
  return argv;
}

/// The program with its own arguments and those of the template, in the role's order.
std::vector<std::string> plan_arguments(const RolePlan& shared, const Values& values) {
  std::vector<std::string> argv = plan_program(shared, values);
  if (!shared.role.arguments_first) {
    const std::vector<std::string> added = template_arguments(shared, values);
    argv.insert(argv.end(), added.begin(), added.end());
  }
  return argv;
}

/// The binding of the process whose accelerator has index `place` among those that the runtime counts.
std::optional<CpuBinding> binding_of(const RolePlan& shared, std::size_t place) {
  if (!shared.input.job.binding) {
    return std::nullopt;
  }
  const NodeBinding& node = *shared.input.job.binding;
  if (const auto role = node.roles.find(shared.role.name); role != node.roles.end()) {
    return role->second;
  }
  const bool has_device = shared.role.count == RoleCount::PerDevice && place < node.devices.size();
  return has_device ? node.devices[place] : std::nullopt;
}

void bind(WorkerPlan& worker, const RolePlan& shared, std::optional<CpuBinding> binding) {
  if (shared.input.job.binding) {
    worker.environment.insert(shared.input.job.binding->variables.begin(), shared.input.job.binding->variables.end());
  }
  if (binding) {
    worker.environment.insert(binding->variables.begin(), binding->variables.end());
  }
  worker.binding = std::move(binding);
}

/// Starts the program in the directory that the user names; a relative path of the program counts from there.
void enter_users_folder(WorkerPlan& worker, const RolePlan& shared) {
  const std::string& folder = shared.input.job.folder;
  // mpirun changes the directory for each program.
  if (folder.empty() || shared.role.is_unranked || !runs_users_program(shared.role)) {
    return;
  }
  worker.changes_directory = true;
  worker.working_directory = folder;
  resolve_program(worker, folder);
}

/// Starts a process in its role's directory, if it has one; relative paths of the user keep their meaning.
void enter_directory(WorkerPlan& worker, const RolePlan& shared, const Values& values) {
  const std::string& here = shared.input.snapshot.working_directory;
  worker.working_directory = here;
  if (!changes_directory(shared, values)) {
    enter_users_folder(worker, shared);
    return;
  }
  worker.changes_directory = true;
  worker.makes_directory = true;
  worker.working_directory = fill_placeholders(shared.role.working_directory, values);
  if (!worker.script.empty()) {
    worker.script = absolute_path(worker.script, here);
  }
  if (shared.input.job.files.imports_from_here && runs_users_program(shared.role)) {
    add_python_path(worker.environment, here, shared.input.snapshot);  // Python would find modules there
  }
  resolve_program(worker, here);
}

WorkerPlan plan_worker(const RolePlan& shared, const Values& values) {
  const RoleTemplate& role = shared.role;
  WorkerPlan worker;
  worker.error_file = values.at("error_file");
  worker.role = role.name;
  worker.decides_success = shared.decides_success;
  worker.listens = role.listens && shared.input.cluster.job.endpoints.empty();  // else the platform chose the ports
  worker.argv = plan_arguments(shared, values);
  worker.script = runs_users_program(role) ? shared.input.job.script : "";
  worker.environment = plan_environment(shared, values);
  if (runs_users_program(role)) {  // the user's variables override the template
    for (const auto& [name, value] : shared.input.job.exported) {
      worker.environment[name] = value;
    }
  }
  for (const std::string& name : shared.unset) {
    if (!worker.environment.contains(name)) {
      worker.unset.push_back(name);
    }
  }
  if (takes_variables_along(role)) {
    worker.environment.merge(mpi::with_shell_names(shared.input.snapshot.variables));
  }
  enter_directory(worker, shared, values);
  worker.label = fill_placeholders(role.label, values);
  worker.is_unranked = role.is_unranked;
  worker.log = name_logs(shared.input.job, shared.log_folder,
                         {.name = role.name + "_" + values.at("global_rank"),
                          .local_rank = values.at("local_rank"),
                          .path = fill_placeholders(role.log, values),
                          .joins_streams = role.joins_streams});
  return worker;
}

/// Adds the endpoint of a listening process, and the endpoints of its peers.
void add_own_endpoint(Values& values, const RolePlan& shared, int role_rank) {
  const bool is_known = shared.placement.is_decided || !shared.endpoints.empty();
  values["endpoint"] = is_known ? "" : mark_deferred("endpoint");
  values["task_config"] =
      is_known ? task_config(shared.endpoints, shared.role.name, role_rank) : mark_deferred("task_config");
  for (const RoleEndpoints& list : shared.endpoints) {
    if (list.role == shared.role.name && static_cast<std::size_t>(role_rank) < list.endpoints.size()) {
      values["endpoint"] = list.endpoints[static_cast<std::size_t>(role_rank)];
    }
  }
  if (shared.input.cluster.has_task_config) {
    values["task_config"] =
        task_config_of_platform(shared.input.snapshot.variable("TF_CONFIG").value_or(""), shared.role.name);
  }
}

/// Adds the position among the nodes that have this local rank.
void add_cross_place(Values& values, const RolePlan& shared, int local_rank) {
  if (shared.slots.empty()) {
    values["cross_rank"] = values.at("host_rank");
    values["cross_size"] = values.at("host_count");
    return;
  }
  const CrossPlace place = find_cross_place(shared.slots, shared.placement.node_rank, local_rank);
  values["cross_rank"] = std::to_string(place.rank);
  values["cross_size"] = std::to_string(place.size);
}

/// Sets the values that JAX's plugin for Neuron documents: cores per process, and the rendezvous. PyTorch's plugin
/// finds them itself.
void add_neuron(Values& values, const RolePlan& shared, int world_size) {
  constexpr int kPort = 62'182;
  values["neuron_cores"] = "";
  values["neuron_root"] = "";
  if (world_size < 2 || accelerator_kind(shared.input.snapshot) != "neuron") {
    return;
  }
  const int here = std::max(1, parse_integer(values.at("local_world_size"), 1, world_size).value_or(1));
  const std::string each = std::to_string(std::max(1, count_visible_devices(shared.input.snapshot) / here));
  values["neuron_cores"] = join(std::vector<std::string>(static_cast<std::size_t>(world_size), each), ",");
  values["neuron_root"] = join_endpoint(values.at("master_address"), std::to_string(kPort));
}

/// Sets the variable that limits the visible devices, and unsets variables with the same purpose. The template's own
/// setting of it wins.
void show_devices(WorkerPlan& worker, const std::string& variable, const std::string& list,
                  const std::vector<std::string>& unset) {
  worker.environment.emplace(variable, list);
  worker.unset.insert(worker.unset.end(), unset.begin(), unset.end());
}

/// The device that a rank table assigns to the i-th process of a role here, among its visible ones; empty: none.
std::optional<int> listed_device(const RolePlan& shared, std::size_t i) {
  const bool is_listed = shared.role.count == RoleCount::PerDevice && i < shared.devices.size();
  return is_listed ? std::optional(shared.devices[i]) : std::nullopt;
}

/// The device of a process among its visible ones, by its local rank on the host and its index on this node.
int device_of(const RolePlan& shared, int local_rank, std::size_t i) {
  return listed_device(shared, i).value_or(shared.part.device(local_rank));
}

/// Shows a worker only its own device, if that is requested and it has one, else the chosen devices. `place` is its
/// local rank on the host.
void show_devices(WorkerPlan& worker, const RolePlan& shared, std::size_t place, std::size_t i) {
  if (shared.input.job.masks_devices && shared.role.count == RoleCount::PerDevice) {
    const DeviceMask mask = find_device_mask(shared.input.snapshot);
    const auto device = static_cast<std::size_t>(device_of(shared, static_cast<int>(place), i));
    show_devices(worker, mask.variable, mask.device(device), mask.unset);
  }
  if (const auto& chosen = shared.input.job.devices) {
    show_devices(worker, chosen->variable, chosen->list, chosen->unset);
  }
}

}  // namespace

void add_python_path(std::map<std::string, std::string>& environment, const std::string& folder,
                     const Snapshot& snapshot) {
  const auto [path, is_new] = environment.try_emplace("PYTHONPATH");
  if (is_new) {
    path->second = snapshot.variable("PYTHONPATH").value_or("");
  }
  path->second = folder + (path->second.empty() ? "" : ":") + path->second;
}

void plan_role(LaunchPlan& plan, const RolePlan& shared, const RolePlace& place, Values values) {
  values["role"] = shared.role.name;
  const bool has_others = shared.named.total > 0;  // there are nodes whose role has another name
  values["role_world_size"] = std::to_string(has_others ? shared.named.total : place.total);
  add_neuron(values, shared, place.total);
  const int cores = std::stoi(values.at("cores_per_worker"));
  for (std::size_t i = 0; i < place.here.size(); ++i) {
    const int role_rank = place.here[i];
    const int global_rank = plan.world_size + role_rank;
    const int local_rank = shared.part.local_rank(static_cast<int>(plan.workers.size()));
    const int local_place = shared.part.local_rank(static_cast<int>(i));
    const auto place_on_host = static_cast<std::size_t>(local_place);
    const auto bound_place = static_cast<std::size_t>(listed_device(shared, i).value_or(local_place));
    const int named_rank = has_others ? shared.named.before + static_cast<int>(i) : role_rank;
    values["role_rank"] = std::to_string(named_rank);
    values["global_rank"] = std::to_string(global_rank);
    values["local_rank"] = std::to_string(local_rank);
    values["visible_local_rank"] =
        std::to_string(shared.input.job.masks_devices ? 0 : device_of(shared, local_rank, i));
    add_cross_place(values, shared, static_cast<int>(i));
    // Adds the values that differ between the workers of a role.
    if (shared.role.listens) {
      add_own_endpoint(values, shared, role_rank);
    }
    values.erase("error_file");  // removes the previous worker's: the file's own name cannot hold it
    values["error_file"] = name_error_file(shared, values);
    values["neuron_rank"] = values.at("neuron_cores").empty() ? "" : values.at("global_rank");
    std::optional<CpuBinding> binding = binding_of(shared, bound_place);
    const int bound = binding && !binding->cpus.empty() ? static_cast<int>(binding->cpus.size()) : cores;
    // More threads than bound CPUs would only wait for each other.
    values["cores_per_worker"] = std::to_string(std::min(bound, cores));
    WorkerPlan worker = plan_worker(shared, values);
    bind(worker, shared, std::move(binding));
    show_devices(worker, shared, place_on_host, i);
    worker.global_rank = GlobalRank{global_rank};
    worker.local_rank = LocalRank{local_rank};
    worker.role_rank = named_rank;
    plan.workers.push_back(std::move(worker));
  }
}

// Fills the hosts, slots, networks and ranks of all nodes once they have met.

namespace {

/// The nodes as they reported themselves; a single node is described here.
std::vector<NodePorts> known_nodes(const Placement& placement, const Snapshot& snapshot) {
  if (placement.nodes == 1) {
    return {NodePorts{"", {}, placement.slots_total, snapshot.host_name}};
  }
  return placement.ports;
}

/// ModelArts images set this variable to interfaces for the ranks' messages: "eth0,bond0".
constexpr const char* kInterfaces = "MY_MPI_BTL_TCP_IF";

mpi::NamedInterfaces wanted_interfaces(const Snapshot& snapshot) {
  return mpi::find_interfaces(snapshot.variable(kInterfaces).value_or(""), snapshot.interfaces.get());
}

/// Adds the networks for mpirun with its daemons, and for the ranks. `networks` covers all nodes, once they are
/// known.
void add_networks(std::map<std::string, std::string>& values, const std::optional<std::string>& networks,
                  const Placement& placement, const Snapshot& snapshot,
                  const std::map<std::string, std::string>& exported) {
  const auto is_set = [&](const char* name) { return snapshot.variable(name).has_value() || exported.contains(name); };
  // Open MPI refuses to use any network where one is both included and excluded.
  const bool names_others = is_set("OMPI_MCA_oob_tcp_if_exclude") || is_set("PRTE_MCA_prte_if_exclude");
  values["networks"] = names_others ? "" : networks.value_or(mark_deferred("networks"));
  const std::string wanted = placement.nodes > 1 ? wanted_interfaces(snapshot).here : "";
  values["interfaces"] = is_set("OMPI_MCA_btl_tcp_if_exclude") ? ""
                         : !wanted.empty()                     ? wanted
                                                               : networks.value_or(mark_deferred("interfaces"));
}

}  // namespace

void add_mpirun_values(std::map<std::string, std::string>& values, const Placement& placement, const Snapshot& snapshot,
                       const std::map<std::string, std::string>& exported, const MpirunWords& words) {
  const std::vector<NodePorts> nodes = known_nodes(placement, snapshot);
  const bool is_known = placement.is_decided || !nodes.empty();
  values["hostfile"] = is_known ? mpi::write_hostfile(nodes) : mark_deferred("hostfile");
  // Empty for nodes on one machine, where no bridge can be in the way.
  const auto networks = is_known ? std::optional(mpi::common_networks(mapped(nodes, &NodePorts::host))) : std::nullopt;
  add_networks(values, networks, placement, snapshot, exported);
  // An mpirun that places the ranks knows their number per node.
  const bool is_known_here = !words.sets_places;
  values["oversubscribed"] = is_known_here && placement.slots_here > snapshot.cores.count ? "1" : "";
  values["slots"] = std::to_string(placement.slots_total);
  values["mpirun_processes"] = words.processes.empty() ? values["slots"] : words.processes;
  values["mpirun_mapping"] = words.sets_places ? "" : "slot";
}

void add_interface_notice(LaunchPlan& plan, const std::vector<std::string>& texts, const Snapshot& snapshot) {
  if (plan.placement.nodes == 1 || !use_placeholder(texts, "interfaces")) {
    return;
  }
  const auto wanted = wanted_interfaces(snapshot);
  if (!wanted.missing.empty()) {
    plan.notices.push_back(std::string(kInterfaces) + " names '" + wanted.missing +
                           "', which this host does not have: MPI's messages go by " +
                           (wanted.here.empty() ? "the network in which the nodes reach each other" : wanted.here));
  }
}

void add_mpi(LaunchPlan& plan, const std::map<std::string, std::string>& values) {
  if (plan.needs_service(kPmixService)) {
    plan.needs_run_folder = true;
    // libpmix accepts any process of the job's user that knows the namespace, so the namespace is the secret.
    plan.mpi_job = fill_placeholders("muster-{job_secret}-{attempt}", values);
  }
}

}  // namespace muster
