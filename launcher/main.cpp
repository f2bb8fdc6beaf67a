// The main program, from the environment to the report. Each step calls the stage in the folder of its name.
#include "base/display_text.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"
#include "plan_job.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"
#include "process/spawn.hpp"
#include "requests.hpp"
#include "services/mpi/mpi_roles.hpp"
#include "start_job.hpp"
#include "subcommands.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

namespace muster {
namespace {

/// Runs, plans or explains a job on other hosts, as their remote launcher.
Result<int> fan_out(const CommandLine& line, const Options& options, const Snapshot& snapshot,
                    const Inherited& inherited) {
  const auto planned = TRY(plan_fan_out(line, options, snapshot));
  if (line.command == Command::Run) {
    take_over_signals();
    return start_fan_out(planned, options, inherited, snapshot);
  }
  LaunchPlan plan = make_launcher_plan(planned);
  plan.cluster.lost = seen_of_nodes(snapshot, planned.hosts.source.name + " says which nodes there are");
  return line.command == Command::Explain ? explain(plan, options.is_json) : show_plan(plan, options.is_json);
}

/// The error `refused` of a job without a plan. If its program does not exist, the error says so first: a mistyped
/// word may have been taken for the program, and then the nodes are not at fault.
Error add_missing_program(Error refused, const Options& options, const Snapshot& snapshot) {
  const JobRequest& job = options.job;
  if (!job.folder.empty() || job.program.empty()) {
    return refused;
  }
  Result<> found = check_script(job.script);
  if (job.script.empty()) {
    const auto file = find_executable(job.program.front(), snapshot.variable("PATH").value_or(""));
    found = file ? Result<>() : file.error();
  }
  if (!found && found.error().kind == ErrorKind::NotFound) {
    refused.message = found.error().message + "; and " + refused.message;
  }
  return refused;
}

/// Fails for a program that does not exist and whose name is nearly a command of muster, or a script's name without
/// its ending: `muster statsu`, `muster train`. Only then searches PATH, because a file system in it may hang.
Result<> check_is_no_typo(const CommandLine& line, const Options& options, const Snapshot& snapshot) {
  const JobRequest& job = options.job;
  if (line.compat != nullptr || line.command != Command::Run || job.program.empty() || !job.script.empty()) {
    return {};
  }
  const std::string& word = job.program.front();
  const auto near = nearest_command(word);
  const bool is_script = ::access((word + ".py").c_str(), R_OK) == 0;
  if (!near && !is_script) {
    return {};
  }
  const auto found = find_executable(word, snapshot.variable("PATH").value_or(""));
  if (found || found.error().kind != ErrorKind::NotFound) {  // such as muster under the name of mpirun
    return {};
  }
  return Error{ErrorKind::NotFound, "cannot run '" + visible_line(word) + "': not found in PATH; did you mean '" +
                                        (is_script ? visible_line(word) + ".py" : "muster " + *near) + "'?"};
}

/// Checks the folder of log files, and starts this host's part of a job. A node of several must join and fail there, because
/// the others would wait for it.
Result<int> start_here(Planned planned, const CommandLine& line, const Options& options, const Snapshot& snapshot,
                       const Inherited& inherited) {
  const bool is_alone = planned.input && planned.input->cluster.job.most_nodes == 1;
  const auto log_dir = line.settings.find("log-dir");
  TRY(is_alone && log_dir && options.run.needs_files() && !options.run.log_dir.empty() ? check_log_dir(*log_dir)
                                                                                       : Result<>());
  take_over_signals();
  return start_job(std::move(planned), options, inherited, snapshot);
}

/// Runs, plans or explains this host's part of a job.
Result<int> run_here(const CommandLine& line, const Options& options, const Snapshot& snapshot,
                     const Inherited& inherited) {
  TRY(check_is_no_typo(line, options, snapshot));
  auto planned = plan_job(line, options, snapshot);
  if (!planned) {
    if (line.command == Command::Explain) {
      return explain_refusal(planned.error(), snapshot, options.is_json);
    }
    return line.command == Command::Run ? add_missing_program(planned.error(), options, snapshot) : planned.error();
  }
  if (line.command != Command::Run && !planned->nested_notice.empty()) {
    log_info(planned->nested_notice);
  }
  if (line.command == Command::Explain) {
    return planned->refusal ? explain_refusal(*planned->refusal, planned->plan, options.is_json)
                            : explain(planned->plan, options.is_json);
  }
  TRY(check_stdin_rank(options, planned->plan));
  const bool waits_first =
      planned->plan.placement.nodes > 1 && options.job.folder.empty() && !options.job.script.empty();
  if (const auto found = waits_first ? check_script(options.job.script) : Result<>(); !found) {
    planned->plan.notices.push_back(found.error().message + "; the workers start when all nodes are here, and need it");
  }
  if (const auto unread = describe_unread_program(options, planned->plan, snapshot.has_input); !unread.empty()) {
    planned->plan.notices.push_back(unread);
  }
  if (line.command == Command::Plan) {
    return show_plan(planned->plan, options.is_json);
  }
  return start_here(std::move(*planned), line, options, snapshot, inherited);
}

/// The file that the C library would open for the time zone in TZ, although it may block there, as a FIFO does; empty:
/// none.
std::string blocking_zone_file(const std::map<std::string, std::string>& variables) {
  std::string zone = value_at(variables, "TZ");
  zone.erase(0, zone.starts_with(':') ? 1 : 0);
  if (!zone.starts_with('/')) {
    zone = value_at(variables, "TZDIR", "/usr/share/zoneinfo") + "/" + zone;
  }
  std::error_code error;
  const auto type = std::filesystem::status(zone, error).type();
  using Type = std::filesystem::file_type;
  const bool is_read_at_once = type == Type::regular || type == Type::directory || type == Type::not_found;
  return error || is_read_at_once ? "" : zone;
}

/// Starts the clock that puts the time before a job's lines, as the options say. If the C library could block at the
/// file of the time zone, this process (not its workers) uses UTC as local time.
void start_clock(RunOptions& options, const std::map<std::string, std::string>& variables) {
  options.console_times.clock = make_console_clock(options, std::chrono::system_clock::now());
  set_log_clock(options.console_times.clock);
  const bool reads_zone = options.console_times.clock.form == ConsoleTime::Local;
  if (const std::string zone = reads_zone ? blocking_zone_file(variables) : ""; !zone.empty()) {
    (void)::setenv("TZ", "UTC0", /*overwrite=*/1);  // NOLINT(concurrency-mt-unsafe): no other thread runs yet
    log_warning("TZ names '" + zone + "', which is no regular file: times are in UTC");
  }
}

/// Runs as an agent that the remote launcher of a job has started on this host.
Result<int> run_remote_agent(const Inherited& inherited) {
  buffer_log();
  const auto remote_order = TRY(read_remote_order());
  const AgentOrder& order = remote_order.order;
  const Snapshot snapshot = take_snapshot(order);
  wipe_token();
  auto options = TRY(read_options(order.line, snapshot));
  options.run.launcher =
      LauncherInfo{remote_order.launcher.get(), order.nonce, order.host, order.is_first, order.terminals};
  start_clock(options.run, read_variables());
  return run_here(order.line, options, snapshot, inherited);
}

/// Answers commands that make no plan of a job; empty for any other command.
std::optional<Result<int>> answer(const CommandLine& line, const Snapshot& snapshot, const Inherited& inherited) {
  if (const Subcommand* const subcommand = find_subcommand(line.command)) {
    return subcommand->run(line, snapshot, inherited);
  }
  return line.command == Command::Explain ? explain_meaning(line, snapshot.variable("PATH").value_or(""))
                                          : std::nullopt;
}

Result<int> launch(std::span<char* const> argv, const Inherited& inherited) {
  if (const MpiRole role = find_mpi_role(argv)) {
    return role({{argv.begin() + 2, argv.end()}, read_variables(), inherited});
  }
  if (is_remote_agent(argv)) {
    return run_remote_agent(inherited);
  }
  const Snapshot snapshot = take_snapshot();
  wipe_token();
  const auto read = read_command_line(argv, snapshot, read_regular_file);
  if (!read) {
    return advise_quotes(read.error(), argv);
  }
  const CommandLine& line = *read;
  const auto text = requested_text(line);
  if (text || line.command != Command::Run) {
    release_signals(inherited);  // this command starts nothing that needs an orderly end
  } else {
    die_on_stop_signals(inherited);
    probe_streams();
  }
  if (text) {
    return print(*text);
  }
  if (auto answered = answer(line, snapshot, inherited)) {
    return std::move(*answered);
  }
  auto options = read_options(line, snapshot);
  if (line.command == Command::Run) {
    buffer_log();
    if (options) {
      start_clock(options->run, snapshot.variables);
    }
  }
  log_notices(line);
  if (!options) {
    const Error error = advise_quotes(options.error(), argv);
    return line.command == Command::Explain ? explain_refusal(error, snapshot, is_on(line.settings, "json")) : error;
  }
  return lists_hosts(line) ? fan_out(line, *options, snapshot, inherited)
                           : run_here(line, *options, snapshot, inherited);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const muster::Inherited inherited = muster::setup_process();
  try {
    const auto may_start = muster::check_stack_limit();
    const auto exit_code = may_start ? muster::launch({argv, static_cast<std::size_t>(argc)}, inherited)
                                     : muster::Result<int>(may_start.error());
    if (exit_code) {
      return *exit_code;
    }
    muster::print_fatal(exit_code.error().message);
    return exit_code.error().exit_code();
  } catch (const std::exception& error) {  // a bug, or no memory: no code below catches these
    muster::print_fatal(std::string("internal error: ") + error.what());
    return 70;
  }
}
