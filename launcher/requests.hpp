#pragma once

// Reads the command line into settings, which are text, and turns them into the typed requests of the stages.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "compat/command_line.hpp"
#include "environment/snapshot.hpp"
#include "gang/gang_config.hpp"
#include "options/syntax.hpp"
#include "plan/binding.hpp"
#include "plan/launch_plan.hpp"
#include "run/run_options.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Variable with the token itself, unlike MUSTER_TOKEN_FILE. There is no --token because command lines are public.
inline constexpr const char* kTokenVariable = "MUSTER_TOKEN";

// Reads muster's own options and its command line.

OptionTable own_options();

/// Reads argv and the MUSTER_* variables of the snapshot. Nothing behind the program is read as an option. Fails with
/// `BadUsage`, or `BadEnvironment` for a variable. `read_text` reads files that another launcher's line names.
[[nodiscard]] Result<CommandLine> read_command_line(std::span<char* const> argv, const Snapshot& snapshot,
                                                    const ReadText& read_text);

/// Reads muster's own flags in front of the program.
[[nodiscard]] Result<Settings> read_settings_of(std::span<const std::string> tokens);

/// Reads muster's own flags, and the options of another launcher behind its name, as far as they can be read here.
[[nodiscard]] Result<Settings> read_all_settings_of(std::span<const std::string> tokens);

// Texts for users, made from the table of options.
std::string help_text();
std::string man_page();
[[nodiscard]] Result<std::string> completion_script(const Sourced<std::string>& shell);

/// Requested binding of the processes, without the arguments for workers of msrun's mode.
struct BindingOptions {
  BindingRequest request;
  bool is_msruns = false;  ///< given in msrun's form
  std::string bind_file;   ///< msrun's configuration file; empty: none
};

/// All settings of the user, read once.
struct Options {
  JobRequest job;
  ModeRequest mode;
  ClusterRequest cluster;
  RunOptions run;
  gang::GangOptions gang;
  std::optional<BindingOptions> binding;
  Sourced<When> compat_hfai = {When::Auto, {}};  ///< whether scripts find muster's package hfai
  std::optional<Sourced<std::string>> devices;   ///< devices of this node that the job uses; empty: all
  std::optional<Source> stop_signals;            ///< source of the signals, if the user names any
  std::optional<Source> stdin_rank;
  std::optional<Sourced<std::string>> report;
  std::string state_dir;       ///< empty: none
  std::optional<int> history;  ///< reports of this user's jobs to keep; empty: by whether a person watches
  bool is_verbose = false;
  bool is_json = false;
  /// This process is a worker of another launcher, so that options of placement have no effect.
  bool is_worker_already = false;
  std::vector<Source> ignored;  ///< the sources of options of placement, if `is_worker_already`
};

/// Reads all settings. Fails for an invalid option, and for options that contradict each other.
[[nodiscard]] Result<Options> read_options(const CommandLine& line, const Snapshot& snapshot);

/// Error for a command line without a program where one is needed.
Error no_program(const CompatLauncher* compat = nullptr, bool has_input = false);

/// Reads the program, and adds the Python interpreter if needed. Fails with `BadUsage` if no program is given, unless
/// there is a template, whose roles may need none.
[[nodiscard]] Result<JobRequest> read_job(const CommandLine& line, const Snapshot& snapshot);

/// Reads how the job runs. Fails for an invalid option.
[[nodiscard]] Result<RunOptions> read_run_options(const Settings& settings, const Snapshot& snapshot);

/// Reads how the job suspends after a notice. Fails for options that contradict each other.
[[nodiscard]] Result<> read_suspend_options(RunOptions& options, const Settings& settings, const Snapshot& snapshot);

/// Reads the destinations of output lines and their prefixes.
[[nodiscard]] Result<> read_log_options(RunOptions& options, const Settings& settings, const Snapshot& snapshot);

/// Reads the words of --preflight.
[[nodiscard]] Result<gang::PreflightChoice> read_preflight(const Sourced<std::string>& given);
/// Reads how the nodes of a job meet, restart and end together. Fails for an invalid option, and if both
/// MUSTER_TOKEN, which is the token itself, and --token-file are given.
[[nodiscard]] Result<gang::GangOptions> read_gang_options(const Settings& settings, const Snapshot& snapshot);

/// Removes MUSTER_TOKEN from the environment that the kernel shows of this process (after the snapshot), because
/// workers, which run as the same user, could read it there.
void wipe_token();

/// The variables without the token, for processes that muster starts.
std::map<std::string, std::string> without_token(std::map<std::string, std::string> variables);

/// Reads the path of the rank table, or the request to generate one. Fails if the file with the addresses of the
/// devices cannot be read.
[[nodiscard]] Result<> read_rank_table(Options& options, const Settings& settings, const Snapshot& snapshot);

/// Text of a file that an option names; `expected` follows the word "expected" in the error.
[[nodiscard]] Result<std::string> read_given_file(const Sourced<std::string>& setting, const char* expected);

/// Reads the positions of the nodes in the network from the file of --topology. Fails if the file cannot be read or
/// has an invalid line.
[[nodiscard]] Result<> read_network(JobRequest& job, const Settings& settings, const Snapshot& snapshot);

/// Reads the binding of processes to CPUs and memory; empty if none is asked for. Reads the file that an option
/// names. Fails for an invalid option, and for options that contradict each other.
[[nodiscard]] Result<std::optional<BindingOptions>> read_binding_options(const Settings& settings);

/// Binding for a mode, by its name: workers of msrun's mode get their binding as arguments.
BindingRequest binding_request(const BindingOptions& options, std::string_view mode);

/// Reads the given options whose rows name a member of this type of request.
[[nodiscard]] Result<> read_rows(auto& request, const Settings& settings) {
  return read_rows(request, own_options().options, settings);
}

/// The command of muster that a mistyped word is nearest to; empty: none is near.
std::optional<std::string> nearest_command(const std::string& word);

// Readers of single options, for their rows.

[[nodiscard]] Result<When> read_when(const Sourced<std::string>& given);
/// --console-time: a form, and behind it ",workers" or nothing.
[[nodiscard]] Result<ConsoleTimes> read_console_times(const Sourced<std::string>& given);
[[nodiscard]] Result<std::string> read_folder(const Sourced<std::string>& given);
[[nodiscard]] Result<std::vector<std::string>> read_success_roles(const Sourced<std::string>& given);
/// --compile-cache: the absolute path of the folder; empty for "off".
[[nodiscard]] Result<std::optional<Sourced<std::string>>> read_cache_store(const Sourced<std::string>& given);
/// --store: the option's source if it wants the agent to serve the store; else empty.
[[nodiscard]] Result<std::optional<Source>> read_agent_store(const Sourced<std::string>& given);
[[nodiscard]] Result<std::optional<gang::Lead>> read_lead(const Sourced<std::string>& given);
[[nodiscard]] Result<std::string> read_machine(const Sourced<std::string>& given);
/// A signal that can be a notice.
[[nodiscard]] Result<int> read_notice_signal(const Sourced<std::string>& given);
[[nodiscard]] Result<int> read_worker_signal(const Sourced<std::string>& given);

/// Fails if --stdin names a worker that this node does not have.
[[nodiscard]] Result<> check_stdin_rank(const Options& options, const LaunchPlan& plan);

/// Warns that the interpreter of some workers would read the program from standard input, which these workers do not
/// get; else empty. `has_input`: muster's standard input is a file or a pipe.
std::string describe_unread_program(const Options& options, const LaunchPlan& plan, bool has_input);

}  // namespace muster
