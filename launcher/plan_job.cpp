// Runs the stages up to the plan.
#include "plan_job.hpp"

#include "base/log.hpp"
#include "compat/compat_launcher.hpp"
#include "compat/nested_launcher.hpp"
#include "compile_cache_request.hpp"
#include "environment/cpu_topology.hpp"
#include "inputs/input_files.hpp"
#include "options/settings.hpp"
#include "rank_table/route_plan.hpp"
#include "rank_table/table_input.hpp"
#include "rank_table/table_plan.hpp"
#include "services/service.hpp"
#include "subcommands.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace muster {
namespace {

/// Binds processes to CPUs and accelerators. The topology is read only if binding is asked for.
Result<> bind_job(PlanInput& input, const std::optional<BindingOptions>& options) {
  if (!options) {
    return {};
  }
  const auto topology = TRY(read_topology());
  input.job.binding = TRY(decide_binding(binding_request(*options, input.mode.mode.name), topology, input.snapshot,
                                         processes_to_bind(input)));
  return {};
}

/// Fails for a template and options that are valid, but not together.
Result<> check_plan(const LaunchPlan& plan, const PlanInput& input, const Selection& selection) {
  TRY(check_sizes(plan));
  TRY(check_files(plan, input));
  return check_logs(plan, [&](const WorkerPlan& worker) {
    return selection.out(worker.local_rank).file || selection.err(worker.local_rank).file;
  });
}

/// Number of processes on this node that run the user's program.
int count_of_program(const LaunchPlan& plan, const ModeTemplate& mode) {
  const auto count = std::ranges::count_if(plan.workers, [&](const WorkerPlan& worker) {
    return std::ranges::any_of(
        mode.roles, [&](const RoleTemplate& role) { return role.name == worker.role && runs_users_program(role); });
  });
  return static_cast<int>(count);
}

bool is_mode_given(const ModeRequest& asked) {
  return asked.template_file || (asked.name && asked.name->value != "auto");
}

/// Warns if a launcher, or a script that spawns, would be started several times; empty: it would not.
std::string warn_of_nested_launcher(const LaunchPlan& plan, const PlanInput& input, const ModeRequest& asked) {
  const JobRequest& job = input.job;
  const LaunchContext starts{count_of_program(plan, input.mode.mode), plan.mode, is_mode_given(asked),
                             input.cluster.job.most_nodes,
                             plan.cluster.share ? plan.cluster.share->local_size.value : 1};
  auto own = starts.count > 1 || starts.nodes > 1 ? find_nested_launcher(job.program, !job.script.empty(), read_script)
                                                  : std::nullopt;
  if (!own) {
    return {};
  }
  SuggestedCommand& instead = own->instead;
  instead.knows_nodes = instead.knows_nodes || input.snapshot.variables.contains(instead.nodes_variable);
  return check_nested_launcher(*own, starts);
}

/// Plan for a process that is a worker of another launcher already; notices name the options without effect.
Planned plan_worker(const Options& options, const Snapshot& snapshot) {
  Planned planned{make_worker_plan(options.job, snapshot), std::nullopt};
  for (const Source& source : options.ignored) {
    planned.plan.notices.push_back("ignoring " + source.name + ": this is a worker already");
  }
  return planned;
}

/// The mode `once` for a launcher that starts the workers of a node itself, unless the user asks for another mode.
ModeRequest mode_for_program(ModeRequest asked, const std::vector<std::string>& program) {
  const auto launcher = is_mode_given(asked) ? std::nullopt : find_started_once(program);
  if (launcher) {
    asked.name = {"once", {SourceKind::Flag, launcher->name}};
  }
  return asked;
}

/// Describes the job to a program that is a launcher, by the variables that it reads. The mode `once` has one role.
void add_launcher_variables(PlanInput& input) {
  const auto launcher = input.mode.mode.name == "once" ? find_started_once(input.job.program) : std::nullopt;
  if (!launcher) {
    return;
  }
  for (const LauncherVariable& one : launcher->variables) {
    if (input.cluster.job.most_nodes > 1 || !one.is_of_several_nodes) {
      input.mode.mode.roles.front().environment_unless_set.emplace_back(one.name, one.text);
    }
  }
  if (input.job.template_arguments == GiveArguments::Auto) {
    input.job.template_arguments = GiveArguments::Never;
  }
}

Result<ChosenMode> find_mode(const CommandLine& line, const Options& options, const Snapshot& snapshot) {
  auto mode = choose_mode(mode_for_program(options.mode, options.job.program), snapshot);
  if (!mode) {
    return mode;
  }
  TRY(check_services(mode->mode));
  add_worker_arguments(mode->mode, line);
  // Passes the requested stop signals to torchrun's workers.
  const auto parameter = mode->parameters.find("signals_to_handle");
  if (options.stop_signals && parameter != mode->parameters.end()) {
    parameter->second = {options.run.stop_signals.to_text(), *options.stop_signals};
  }
  return mode;
}

Result<Cluster> find_cluster(const Options& options, const ChosenMode& chosen, const Snapshot& snapshot) {
  const ModeTemplate& mode = chosen.mode;
  const auto role_name = chosen.parameters.find("role_name");
  return describe_cluster(snapshot, options.cluster,
                          {mode.name, mode.digest, roles_to_be_given(mode), options.job.success_roles,
                           options.mode.template_file.has_value(), mode.takes_given_port,
                           role_name == chosen.parameters.end() ? "" : role_name->second.value});
}

/// Fails if the mode needs a rank table that is neither named nor found, and the nodes do not generate one.
Result<> check_table(const ChosenMode& chosen, const rank_table::GenerateRequest& generates) {
  if (makes_table(chosen, generates)) {
    return {};
  }
  for (const Parameter& parameter : chosen.mode.parameters) {
    if (parameter.finds_rank_table && chosen.parameters.at(parameter.name).value.empty()) {
      return Error{ErrorKind::BadEnvironment,
                   "the mode '" + chosen.mode.name +
                       "' needs a rank table: RANK_TABLE_FILE does not name one, there is no '" +
                       std::string(kRankTablePlaces[0]) + "' and no '" + kRankTablePlaces[1] +
                       "'; --rank-table names another one, or has one generated"};
    }
  }
  return {};
}

/// Applies the existing rank table, or this node's part of a generated one. A plan does not wait for a table; a run
/// waits later, and tells the other nodes about errors in the table.
Result<> read_table(PlanInput& input, bool is_run) {
  if (makes_table(input.mode, input.job.generates)) {
    return make_local_part(input);
  }
  std::vector<Input> tables = find_inputs(input.mode, input.cluster, input.snapshot, table_judge(input.snapshot));
  std::erase_if(tables, [](const Input& one) { return !one.is_rank_table; });
  Answer answer = poll(tables, &input.snapshot);
  if (auto* const here = std::get_if<Ready>(&answer)) {
    const auto applied = here->table ? apply_table(input, std::move(*here->table)) : Result<>();
    return is_run ? Result<>() : applied;
  }
  if (is_run) {
    return {};
  }
  if (const auto* const error = std::get_if<Error>(&answer)) {
    return *error;
  }
  const ChosenMode& mode = input.mode;
  const bool is_by_variable = mode.source.kind == SourceKind::Variable;
  return Error{ErrorKind::BadData,
               std::get<Pending>(answer).reason + "; a run would wait for it, a plan does not" +
                   (is_by_variable ? "; the mode is '" + mode.mode.name + "' by " + mode.source.name : "")};
}

/// Reads the route plan, which gives ranks in another order than the placement. Fails without a rank table, which it
/// needs.
Result<> read_route(PlanInput& input) {
  JobRequest& job = input.job;
  const auto inputs = find_inputs(input.mode, input.cluster, input.snapshot);
  if (std::ranges::none_of(inputs, [](const Input& one) { return one.is_rank_table; })) {
    return job.network ? wrong_value({job.network->value.path, job.network->source},
                                     "a job with a rank table that is read from a file")
                       : Result<>();
  }
  auto request = TRY(rank_table::read_route_request(input.snapshot));
  if (request && !job.network) {
    input.cluster.decisions.push_back({"route_plan", "what all nodes agree on at the start", "ROUTE_PLAN"});
    job.route = std::move(*request);
  }
  return {};
}

/// Directory for the mode's log files if the user names none; empty: no files. The user did not ask for them, so that
/// a run only warns if it cannot write there.
std::string choose_log_dir(PlanInput& input, bool is_run) {
  if (!input.job.log_dir.empty()) {
    return {};
  }
  for (const Parameter& parameter : input.mode.mode.parameters) {
    const Sourced<std::string>& folder = input.mode.parameters.at(parameter.name);
    if (!parameter.is_log_dir || folder.value.empty()) {
      continue;
    }
    const auto made = is_run ? make_log_dir(folder) : Result<>();
    if (made) {
      return input.job.log_dir = folder.value;
    }
    input.cluster.notices.push_back(made.error().message + ", going on without it");
  }
  return {};
}

Selection selection_of(const Options& options, const std::string& log_dir) {
  Selection selection = options.run.selection;
  if (!log_dir.empty()) {
    selection.add_folder();
  }
  return selection;
}

void add_notices(LaunchPlan& plan, const std::string& nested_notice, const std::vector<std::string>& more) {
  if (!nested_notice.empty()) {
    plan.notices.push_back(nested_notice);
  }
  plan.notices.insert(plan.notices.end(), more.begin(), more.end());
}

/// Makes the plan for the visible devices.
Result<Planned> plan_visible(const CommandLine& line, const Options& options, const Snapshot& snapshot) {
  auto mode = TRY(find_mode(line, options, snapshot));
  const auto& roles = mode.mode.roles;
  if (options.job.program.empty() && std::ranges::any_of(roles, runs_users_program)) {
    return no_program();
  }
  TRY(check_table(mode, options.job.generates));
  auto cluster = TRY(find_cluster(options, mode, snapshot));
  PlanInput input{std::move(cluster), std::move(mode), options.job, snapshot};
  TRY(add_hfai(input, options));
  add_launcher_variables(input);
  std::string log_dir = choose_log_dir(input, line.command == Command::Run);
  auto ranks = read_table(input, line.command == Command::Run);
  ranks = ranks ? read_route(input) : ranks;
  if (!ranks && line.command != Command::Explain) {
    return ranks.error();
  }
  TRY(check_job(input));
  TRY(bind_job(input, options.binding));
  CacheOptions caches = add_compile_caches(input, options.run.caches, line.command == Command::Run);
  LaunchPlan plan = make_plan(input);
  TRY(check_plan(plan, input, selection_of(options, log_dir)));
  std::string nested_notice = warn_of_nested_launcher(plan, input, options.mode);
  add_notices(plan, nested_notice, compat_notices(line, input.cluster));
  return Planned{std::move(plan),    std::move(input),  std::move(nested_notice),
                 std::move(log_dir), std::move(caches), ranks ? std::nullopt : std::optional(ranks.error())};
}

/// Makes the plan for the devices that the user chooses, as if no others were visible.
Result<Planned> plan_chosen(const CommandLine& line, Options options, Snapshot snapshot) {
  auto choice = TRY(choose_devices(*options.devices, snapshot));
  snapshot.variables[choice.variable] = choice.list;
  for (const std::string& name : choice.unset) {
    snapshot.variables.erase(name);
  }
  if (!options.cluster.slots) {
    options.cluster.slots = {std::to_string(choice.count), choice.source};
  }
  options.job.devices = std::move(choice);
  return plan_visible(line, options, snapshot);
}

}  // namespace

Result<> make_log_dir(const Sourced<std::string>& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder.value, error);
  const int error_number = error ? error.value() : ::access(folder.value.c_str(), W_OK | X_OK) != 0 ? errno : 0;
  return error_number == 0 ? Result<>()
                           : Result<>(system_error(
                                 "cannot write into the log folder '" + folder.value + "' (" + folder.source.name + ")",
                                 error_number));
}

Result<Planned> plan_job(const CommandLine& line, const Options& options, const Snapshot& snapshot) {
  if (options.is_worker_already && options.job.program.empty()) {
    return no_program();  // its only process has nothing else to run
  }
  if (options.is_worker_already) {
    return plan_worker(options, snapshot);
  }
  TRY(check_device_lists(snapshot));
  return options.devices ? plan_chosen(line, options, snapshot) : plan_visible(line, options, snapshot);
}

}  // namespace muster
