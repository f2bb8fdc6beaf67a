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

/// The text of --help, --version, --print-man or --print-completion; nothing if none is asked for.
[[nodiscard]] std::optional<Result<std::string>> requested_text(const CommandLine& line);

/// Writes to standard output. Returns the exit code 0, or an error when it cannot be written.
[[nodiscard]] Result<int> print(const Result<std::string>& text);

/// Says what is done otherwise than asked for. A job says that itself, when it starts.
void log_notices(const CommandLine& line);

/// `muster plan`: the plan as the document that is promised, as JSON or YAML.
[[nodiscard]] Result<int> show_plan(const LaunchPlan& plan, bool is_json);

/// `muster explain`: what was detected, each value with its source, and what was seen and not used; as a
/// table or as JSON.
[[nodiscard]] Result<int> explain(const LaunchPlan& plan, bool is_json);

/// `muster explain` where all was decided but what stands in a file that is not right yet: prints that, and returns
/// the error.
[[nodiscard]] Error explain_refusal(Error error, const LaunchPlan& plan, bool is_json);

/// `muster explain` where nothing could be decided: prints what speaks of nodes, and returns the error.
[[nodiscard]] Error explain_refusal(Error error, const Snapshot& snapshot, bool is_json);

// `muster doctor`: which guarantees hold on this system. It starts nothing.

[[nodiscard]] OptionTable doctor_options();
[[nodiscard]] std::string doctor_help();

/// Reads what stands behind `doctor`: options only.
[[nodiscard]] Result<> read_doctor_line(CommandLine& line, std::span<const std::string> tokens);

/// Asks the system and prints the answer; the value is the exit code, 71 where a guarantee does not hold.
[[nodiscard]] Result<int> run_doctor(const CommandLine& line);

// What --version prints.

/// In the place of another launcher it names that one's product, by which others tell what they have found.
[[nodiscard]] std::string version_text(const CompatLauncher* compat = nullptr);

/// The same, and what the program was built from: commit, target, compiler, and the libraries in it with
/// the Debian packages that they came in.
[[nodiscard]] std::string version_details();

// `muster token`: draws a secret for the links of a job.

[[nodiscard]] OptionTable token_options();
[[nodiscard]] std::string token_help();

/// Reads what stands behind `token`: options only.
[[nodiscard]] Result<> read_token_line(CommandLine& line, std::span<const std::string> tokens);

/// Prints a new one.
[[nodiscard]] Result<int> run_token();

// `muster check ranktable FILE`: says whether a rank table is one, and what is wrong with it. It waits for
// nothing and starts nothing.

[[nodiscard]] OptionTable check_options();
[[nodiscard]] std::string check_help();

/// Reads what stands behind `check`: the kind of file and its name, with options anywhere among them.
[[nodiscard]] Result<> read_check_line(CommandLine& line, std::span<const std::string> tokens);

/// Prints the verdict; the value is the exit code, 65 where the table breaks a rule.
[[nodiscard]] Result<int> run_check(const CommandLine& line, const Snapshot& snapshot);

// `muster render`: prints a manifest, or says whether the whole gang fits into the cluster. It reads no
// environment and starts nothing.

/// What stands where the kind of manifest is read.
inline constexpr const char* kRenderKind = "the kind of manifest";

[[nodiscard]] OptionTable render_options();
[[nodiscard]] std::string render_help();

/// What the manifest is made of. Fails with `BadUsage`.
[[nodiscard]] Result<render::ManifestRequest> read_manifest_request(const CommandLine& line);

/// Prints whether so many pods fit; the value is the exit code.
[[nodiscard]] Result<int> check_fit(const Settings& settings);

/// What each pod asks for, and how many there are. Fails with `BadUsage`.
[[nodiscard]] Result<> read_needs(render::PodNeeds& needs, const Settings& settings, bool is_of_kubernetes);
[[nodiscard]] Result<> read_nodes(int& nodes, const Settings& settings);

/// Answers the command line; the value is the exit code.
[[nodiscard]] Result<int> run_render(const CommandLine& line);

// `muster status`, `stop` and `suspend`: they ask a job that runs on this machine, and by it all of its nodes.

/// True of a command that this file answers.
[[nodiscard]] bool is_control(Command command);

/// The options of one of them.
[[nodiscard]] OptionTable control_options(Command command);
[[nodiscard]] std::string control_help(Command command);

/// Reads what stands behind `status`, `stop` or `suspend`: options only.
[[nodiscard]] Result<> read_control_line(CommandLine& line, std::span<const std::string> tokens);

/// Asks the job and prints the answer.
[[nodiscard]] Result<int> run_control(const CommandLine& line, const Snapshot& snapshot);

// What scripts and muster itself need on HAI.

/// Has the workers find muster's modules for Python, where that is wanted. Fails with `BadUsage` where the user wants it and they are
/// not installed.
[[nodiscard]] Result<> add_hfai(PlanInput& input, const Options& options);

/// What the agent of this node does for HAI; empty: nothing.
[[nodiscard]] std::optional<HaiTask> find_hai_task(const LaunchPlan& plan, const Snapshot& snapshot);

}  // namespace muster
