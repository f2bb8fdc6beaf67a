#pragma once

// From settings, which are text, to the typed requests of the stages.

#include "agent/run.hpp"
#include "base/file_io.hpp"
#include "base/result.hpp"
#include "compat/command_line.hpp"
#include "environment/snapshot.hpp"
#include "gang/gang_config.hpp"
#include "options/syntax.hpp"
#include "plan/binding.hpp"
#include "plan/launch_plan.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace muster {

// muster's own options and its command line.

[[nodiscard]] OptionTable own_options();

/// Reads argv and the MUSTER_* variables of the snapshot. Nothing after the program is read as an
/// option. Fails with `BadUsage`, or `BadEnvironment` for a variable. `read_text` reads the files that another launcher's
/// command line names.
[[nodiscard]] Result<CommandLine> read_command_line(std::span<char* const> argv, const Snapshot& snapshot,
                                                    const ReadText& read_text);

/// What muster's own flags say in front of the program among these tokens.
[[nodiscard]] Result<Settings> read_settings_of(std::span<const std::string> tokens);

/// The same with what another launcher's command line behind them says, as far as that can be read here.
[[nodiscard]] Result<Settings> read_all_settings_of(std::span<const std::string> tokens);

// Texts for users, made from the table.
[[nodiscard]] std::string help_text();
[[nodiscard]] std::string man_page();
[[nodiscard]] Result<std::string> completion_script(const Sourced<std::string>& shell);

/// How the processes are to be bound, but for what only workers of msrun's mode are told.
struct BindingOptions {
  BindingRequest request;
  bool is_msruns = false;  ///< in msrun's form
  std::string bind_file;   ///< where msrun's configuration was read; empty: no file
};

/// What the user asked for, read once.
struct Options {
  JobRequest job;
  ModeRequest mode;
  ClusterRequest cluster;
  RunOptions run;
  gang::GangOptions gang;
  std::optional<BindingOptions> binding;
  Sourced<When> compat_hfai = {When::Auto, {}};  ///< whether scripts find muster's package hfai
  std::optional<Sourced<std::string>> devices;   ///< those of this node that the job uses; empty: all
  std::optional<Source> stop_signals;            ///< who named them
  std::optional<Source> stdin_rank;
  std::optional<Sourced<std::string>> report;
  std::string state_dir;  ///< empty: none
  bool is_verbose = false;
  bool is_json = false;
  /// Another launcher has placed this worker: what the user says about places has no effect.
  bool is_worker_already = false;
  std::vector<Source> ignored;  ///< what that is
};

/// Reads all of it. Fails when an option is wrong, or when two contradict each other.
[[nodiscard]] Result<Options> read_options(const CommandLine& line, const Snapshot& snapshot);

/// That the command line names no program, and one is needed.
[[nodiscard]] Error no_program(const CompatLauncher* compat = nullptr);

/// What to run: adds the Python interpreter where one is needed. Fails with `BadUsage` when no
/// program is given, but for a template: its roles may need none.
[[nodiscard]] Result<JobRequest> read_job(const CommandLine& line, const Snapshot& snapshot);

/// How to run it. Fails when an option is wrong.
[[nodiscard]] Result<RunOptions> read_run_options(const Settings& settings, const Snapshot& snapshot);

/// The part of it that says how the job gives way after a notice. Fails when two options contradict each other.
[[nodiscard]] Result<> read_suspend_options(RunOptions& options, const Settings& settings, const Snapshot& snapshot);

/// Whether scripts find muster's package hfai. Fails when the option is wrong.
[[nodiscard]] Result<> read_compat_hfai(Options& options, const Settings& settings);

/// The part of it that says which lines go where, and what they begin with.
[[nodiscard]] Result<> read_log_options(RunOptions& options, const Settings& settings, const Snapshot& snapshot);

/// How the nodes of a job meet, restart and end together. Fails when an option is wrong, or when both
/// MUSTER_TOKEN, which is the token itself, and --token-file are given.
[[nodiscard]] Result<gang::GangOptions> read_gang_options(const Settings& settings, const Snapshot& snapshot);

/// Takes MUSTER_TOKEN out of the environment that the kernel shows of this process, once a snapshot has it: workers, of the
/// same user, could read it there.
void wipe_token();

/// What processes that muster starts may inherit.
[[nodiscard]] std::map<std::string, std::string> without_token(std::map<std::string, std::string> variables);

/// Where the rank table is, or that the nodes make one. Fails when the file with the addresses of the devices
/// cannot be read.
[[nodiscard]] Result<> read_rank_table(Options& options, const Settings& settings, const Snapshot& snapshot);

/// The text of a file; empty: it cannot be read, or is none, as a pipe, which is not waited for.
[[nodiscard]] std::optional<std::string> read_regular_file(const std::string& path);

/// That of a file that an option names; `expected` reads behind "expected".
[[nodiscard]] Result<std::string> read_given_file(const Sourced<std::string>& setting, const char* expected);

/// Where the nodes are in the network, if --topology says so. Fails when the file cannot be read or a line of
/// it is wrong.
[[nodiscard]] Result<> read_network(JobRequest& job, const Settings& settings, const Snapshot& snapshot);

/// How the processes are to be bound to CPUs and memory; empty: nobody asked for it. Reads the file
/// that an option names. Fails when an option is wrong, or when two contradict each other.
[[nodiscard]] Result<std::optional<BindingOptions>> read_binding_options(const Settings& settings);

/// The same for a mode, by its name: msrun's workers are told what they are bound to.
[[nodiscard]] BindingRequest binding_request(const BindingOptions& options, std::string_view mode);

/// Fails when --stdin names a worker that this node does not have.
[[nodiscard]] Result<> check_stdin_rank(const Options& options, const LaunchPlan& plan);

// The end of the allocation that this process is in, as batch systems tell it.

/// Reads the line of `flux job timeleft`: whole seconds. Empty: something else, or there is no limit.
[[nodiscard]] std::optional<std::chrono::seconds> parse_flux_time_left(std::string_view text);

/// Reads the line of `bjobs -noheader -o time_left`: "hours:minutes L" where a limit ends the job. E and X are the user's
/// estimate, at which nothing ends (bjobs(1), -WL).
[[nodiscard]] std::optional<std::chrono::seconds> parse_lsf_time_left(std::string_view text);

/// Slurm says it in a variable. Flux and LSF have a command for it, which is given 4 seconds and run where `may_ask`
/// only. Empty: there is no such system, no limit, or no answer.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> find_allocation_end(const Snapshot& snapshot,
                                                                                       bool may_ask);

}  // namespace muster
