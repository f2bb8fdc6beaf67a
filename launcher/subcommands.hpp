#pragma once

// Commands and options that print something and start nothing.

#include "compat/compat_launcher.hpp"
#include "plan/launch_plan.hpp"
#include "process/guarantees.hpp"
#include "render/manifest.hpp"
#include "requests.hpp"

#include <optional>
#include <span>
#include <string>

namespace muster {

/// Text for --help, --version, --print-man or --print-completion; empty if none is given.
std::optional<Result<std::string>> requested_text(const CommandLine& line);

/// Writes to standard output. Returns the exit code 0, or an error if it cannot be written.
[[nodiscard]] Result<int> print(const Result<std::string>& result);

/// Logs the line's notices, such as options without effect. Does nothing for a job, which logs them when it starts.
void log_notices(const CommandLine& line);

/// Answers `muster plan`: prints the plan as its documented JSON or YAML.
[[nodiscard]] Result<int> show_plan(const LaunchPlan& plan, bool is_json);

/// Answers `muster explain`: prints the detected values with their sources, and the values that were seen but not
/// used, as a table or as JSON.
[[nodiscard]] Result<int> explain(const LaunchPlan& plan, bool is_json);

/// Answers `muster explain CODE`, `muster explain 'TEXT'` and `muster explain WORD`: prints rows of the tables of
/// exit codes, messages and symptoms. Fails with `BadUsage` if no row is like the text. Empty: the line asks about a
/// program, because it has other options than --json, its first word is a file here or a program in `search_path`, or
/// its several words are like no message.
std::optional<Result<int>> explain_meaning(const CommandLine& line, const std::string& search_path);

/// Adds to an error of `muster explain --nnodes got 'x'` that a message is to be quoted: its words were taken for
/// options. `words`: the whole command line.
Error advise_quotes(Error error, std::span<char* const> words);

/// Answers `muster explain` if only the content of an invalid file is undecided: prints the plan, and returns the
/// error.
Error explain_refusal(Error error, const LaunchPlan& plan, bool is_json);

/// Answers `muster explain` if nothing could be decided: prints the values about nodes, and returns the error.
Error explain_refusal(Error error, const Snapshot& snapshot, bool is_json);

/// A command that plans no job, with options of its own.
struct Subcommand {
  Command command;
  const char* name;
  const char* introduction;  ///< of --help and the manual page
  const OptionTable* options;
  /// Reads the words behind the name.
  Result<> (*read)(CommandLine& line, std::span<const std::string> tokens);
  /// Answers the command; returns the exit code.
  Result<int> (*run)(const CommandLine& line, const Snapshot& snapshot, const Inherited& inherited);
};

/// All of them, in the order of the completions.
std::span<const Subcommand> subcommands();

/// The first row for this command. Null for the commands that plan a job.
const Subcommand* find_subcommand(Command command);

std::string help_of(const Subcommand& subcommand);

/// Reads the words behind a subcommand that takes options only.
[[nodiscard]] Result<> read_options_line(CommandLine& line, std::span<const std::string> tokens);

// `muster doctor`: checks which guarantees hold on this system. It starts no job.

extern const OptionTable kDoctorOptions;

/// Probes the system and prints first whether stacks of ranks can be read, then the guarantees, last the facts by
/// which nodes are compared. Returns the exit code: 71 if a guarantee does not hold.
[[nodiscard]] Result<int> run_doctor(const CommandLine& line, const Snapshot& snapshot, const Inherited& inherited);

/// Text of --version. In the place of another launcher, it also names that launcher's product: scripts look for it.
std::string version_text(const CompatLauncher* compat = nullptr);

/// The text of --version, and what the program was built from: commit, target, compiler, and the libraries in it with
/// their Debian packages.
std::string version_details();

// `muster token`: prints a secret for the links of a job.

extern const OptionTable kTokenOptions;

/// Prints a new secret.
[[nodiscard]] Result<int> run_token(const CommandLine& line, const Snapshot& snapshot, const Inherited& inherited);

// `muster check ranktable FILE`: checks a rank table and lists its errors. It waits for nothing and starts nothing.

extern const OptionTable kCheckOptions;

/// Reads the words behind `check`: the kind of file and its name, with options anywhere among them.
[[nodiscard]] Result<> read_check_line(CommandLine& line, std::span<const std::string> tokens);

/// Prints the verdict; returns the exit code, 65 if the table breaks a rule.
[[nodiscard]] Result<int> run_check(const CommandLine& line, const Snapshot& snapshot, const Inherited& inherited);

// `muster render`: prints a manifest, or reports whether the whole gang fits into the cluster. It reads no
// environment and starts nothing.

/// Setting with the kind of manifest.
inline constexpr const char* kRenderKind = "the kind of manifest";

extern const OptionTable kRenderOptions;

/// Reads the words behind `render`: the kind, options, and behind '--' arguments of muster. MUSTER_* variables do not
/// apply.
[[nodiscard]] Result<> read_render_line(CommandLine& line, std::span<const std::string> tokens);

/// Reads the content of the manifest. Fails with `BadUsage`.
[[nodiscard]] Result<render::ManifestRequest> read_manifest_request(const CommandLine& line);

/// Prints whether the pods fit; returns the exit code.
[[nodiscard]] Result<int> check_fit(const Settings& settings);

/// Reads the needs of each pod in a manifest of this kind, and the number of pods. Fails with `BadUsage`.
[[nodiscard]] Result<> read_needs(render::PodNeeds& needs, const Settings& settings, std::string_view kind);
[[nodiscard]] Result<int> read_nodes(const Settings& settings);

/// Answers the command line; returns the exit code.
[[nodiscard]] Result<int> run_render(const CommandLine& line, const Snapshot& snapshot, const Inherited& inherited);

// `muster last`: prints the reports of this user's last jobs.

extern const OptionTable kLastOptions;

/// Reads the words behind `last`: a number, with options anywhere.
[[nodiscard]] Result<> read_last_line(CommandLine& line, std::span<const std::string> tokens);

[[nodiscard]] Result<int> run_last(const CommandLine& line, const Snapshot& snapshot, const Inherited& inherited);

// `muster status`, `stacks`, `stop` and `suspend`: ask a running job on this machine, which asks all its nodes.

extern const OptionTable kStatusOptions;
extern const OptionTable kStacksOptions;
extern const OptionTable kStopOptions;
extern const OptionTable kSuspendOptions;

/// Asks the job and prints the answer.
[[nodiscard]] Result<int> run_control(const CommandLine& line, const Snapshot& snapshot, const Inherited& inherited);

// Set-up of the workers and the agent on HAI.

/// Makes muster's Python modules visible to the workers, if wanted. Fails with `BadUsage` if the user wants them and
/// they are not installed.
[[nodiscard]] Result<> add_hfai(PlanInput& input, const Options& options);

/// The agent's task for HAI on this node; empty: none.
std::optional<HaiTask> find_hai_task(const LaunchPlan& plan, const Snapshot& snapshot);

}  // namespace muster
