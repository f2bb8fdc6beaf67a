#pragma once

// Describes the command lines of other launchers: one table of options for each, from which parsing, --help, the
// completions and the tables in docs/command-lines.md are made.

#include "base/file_io.hpp"
#include "compat/command_line.hpp"
#include "environment/snapshot.hpp"
#include "modes/mode_template.hpp"
#include "modes/mpi_request.hpp"
#include "options/syntax.hpp"
#include "platforms/cluster.hpp"

#include <map>

namespace muster {

/// A setting that has no option: the layout of the log files if it is not muster's own, `kTorchrunLogs` or `kNoLogs`.
inline constexpr const char* kLogLayout = "log-layout";
inline constexpr const char* kTorchrunLogs = "torchrun";
inline constexpr const char* kNoLogs = "nothing";

/// Treatment of an option of another launcher.
enum class OptionSupport {
  Same,
  Better,   ///< the note says how
  Passed,   ///< passed to the original, which muster starts because only it has this feature
  Ignored,  ///< the note says why
  Refused   ///< the note says why: without the option something else would run
};

/// One option of another launcher.
struct CompatOption {
  const char* name;      ///< as the original spells it, without the dashes in front
  char letter;           ///< short form, or '\0'
  const char* argument;  ///< names of its values in --help, separated by blanks; nullptr: a switch
  OptionSupport support;
  const char* note;               ///< for users: what it does here
  const char* setting = nullptr;  ///< takes the value; nullptr: `translate` does, or no code needs it
  const char* choices = nullptr;  ///< for completions, separated by blanks
  bool is_strict = false;         ///< any other value than the choices is an error
  bool may_be_variable = true;    ///< false: the original reads no variable for it
  bool is_passed = false;         ///< the original gets it too, if muster starts the original
  const char* same_as = nullptr;  ///< the option for which this is another name
  bool has_one_dash = false;      ///< a long name behind one dash: "-np"
  bool names_program = false;     ///< for click: unknown options behind it belong to the program
};

/// A row of an option without further properties.
constexpr CompatOption option(const char* name, char letter, const char* argument, OptionSupport support,
                              const char* note) {
  return {name, letter, argument, support, note};
}

/// The row of another name, behind one dash, for the option `same_as`.
constexpr CompatOption behind_one_dash(CompatOption row, const char* same_as) {
  row.has_one_dash = true;
  row.same_as = same_as;
  return row;
}

/// An option of another launcher as it was typed.
struct TypedOption {
  const CompatOption* option;
  std::string name;                 ///< with dashes: "np"
  std::string source;               ///< as it was typed: "-np"
  std::vector<std::string> values;  ///< one for each of its arguments
};

/// Translates the options of another launcher into muster's settings.
struct Translation {
  const Snapshot& snapshot;
  /// Has the program and notices, which may both be changed, and muster's own options. A variable among these is
  /// weaker than a flag of the other launcher.
  CommandLine& line;
  const ReadText& read_text;  ///< for files that the line names
  bool is_whole = true;       ///< false: these options accompany a description of the job, and have no defaults
  std::map<std::string, Sourced<std::string>> given;     ///< by name, with dashes: the last value of each option
  std::vector<TypedOption> typed;                        ///< all options of the command line, in order
  std::map<std::string, Sourced<std::string>> settings;  ///< the result

  /// True for a given option. A switch that is off counts as not given.
  bool has(const std::string& name) const { return given.contains(name); }
  /// The option's value, if the option is given and not empty.
  std::optional<Sourced<std::string>> find(const std::string& name) const;
  void set(const std::string& setting, Sourced<std::string> value) {
    settings.insert_or_assign(setting, std::move(value));
  }
  /// Sets a variable of the workers.
  void export_variable(const std::string& name, Sourced<std::string> value) {
    set(kExportPrefix + name, std::move(value));
  }
  /// Drops the setting of an option and adds a notice with the reason.
  void ignore(const std::string& name, const std::string& setting, const std::string& why);
  /// Adds such a notice only for an option on the line: a variable may be meant for other jobs.
  void ignore_flag(const std::string& name, const std::string& why);
};

/// Rules by which the original parses its command line.
enum class Syntax {
  Argparse,  ///< Python's: an unambiguous beginning is the option, and a value never looks like an option
  Click,     ///< click's: whole names only, in any place, also behind the script
  OpenMpi    ///< one dash or two: "-np 4" is "--np 4"
};

/// Another launcher whose command line muster reads.
struct CompatLauncher {
  const char* name;                 ///< as a command of muster and as the name of a symlink
  const char* mode;                 ///< template that starts the workers
  const char* program;              ///< for --help: the words behind the options
  const char* summary;              ///< for --help: sentences on what muster does better
  const char* variables = nullptr;  ///< prefix of the variables that stand for options; nullptr: it reads none
  std::span<const CompatOption> (*options)();
  Result<> (*translate)(Translation& translation);  ///< does what the table cannot express
  Syntax syntax = Syntax::Argparse;
  const char* aliases = nullptr;  ///< its other names, separated by blanks
  /// The product's name, which --version prints: other programs recognize the original by it.
  const char* product = nullptr;
  /// The subcommand that has to follow the name, because the original has others, too: "launch". nullptr: none.
  const char* subcommand = nullptr;
  /// Name of the original in texts, if it differs from `name`.
  const char* original = nullptr;
  bool variables_win = false;  ///< the launcher's variables win over flags, as Paddle's do
};

/// The words that start it as a command of muster: "torchrun", "accelerate launch".
std::string command_of(const CompatLauncher& compat);

/// Name of the original in texts.
std::string original_of(const CompatLauncher& compat);

std::span<const CompatLauncher> compat_launchers();

/// The launcher with that name or alias; nullptr if there is none.
const CompatLauncher* find_compat(std::string_view name);

/// The launcher that the program's own name (argv[0]) stands for: nullptr for "muster" and all names that begin with
/// it. Fails for an unknown name.
[[nodiscard]] Result<const CompatLauncher*> compat_of(std::string_view argv0);

/// A command line of another launcher.
struct CompatNames {
  const CompatLauncher& compat;
  std::string called;                   ///< the name as the user wrote it
  std::span<const std::string> tokens;  ///< the tokens behind the name
};

/// Reads the tokens, the launcher's variables and MUSTER_* into `line`, whose settings hold muster's flags in front
/// of the launcher's name. `own` are muster's options, which may stand among the tokens. `read_text` reads the files
/// that the line names.
[[nodiscard]] Result<> read_compat(CommandLine& line, const CompatNames& words, const OptionTable& own,
                                   const Snapshot& snapshot, const ReadText& read_text);

/// Reads options of a launcher from a variable of the platform. They win over everything, and name no file.
[[nodiscard]] Result<> read_extra_options(CommandLine& line, const CompatLauncher& compat,
                                          const Sourced<std::string>& words, const Snapshot& snapshot);

/// Reads the platform's variables that say how to run the job, such as ModelArts' MA_RUN_METHOD. Not for a worker of
/// another launcher, which is a part of a job already.
[[nodiscard]] Result<> read_run_method(CommandLine& line, const Snapshot& snapshot);

/// Adds the arguments that the original would give to the workers of the mode.
void add_worker_arguments(ModeTemplate& mode, const CommandLine& line);

/// Spelling of an option in the command line that was read: "--master_addr" for msrun's, "--main_process_ip" for
/// accelerate's, else muster's own.
std::string spelled(const CommandLine& line, std::string_view name);

/// Sentences for the start of the job on what the original would have done differently.
std::vector<std::string> compat_notices(const CommandLine& line, const Cluster& cluster);

// Tables of the launchers.
std::span<const CompatOption> torchrun_options();
std::span<const CompatOption> torch_launch_options();
std::span<const CompatOption> msrun_options();
std::span<const CompatOption> deepspeed_options();
[[nodiscard]] Result<> translate_torchrun(Translation& translation);
[[nodiscard]] Result<> translate_torch_launch(Translation& translation);
[[nodiscard]] Result<> translate_msrun(Translation& translation);
[[nodiscard]] Result<> translate_deepspeed(Translation& translation);
std::span<const CompatOption> accelerate_options();
[[nodiscard]] Result<> translate_accelerate(Translation& translation);
std::span<const CompatOption> colossalai_options();
[[nodiscard]] Result<> translate_colossalai(Translation& translation);
std::span<const CompatOption> paddle_options();
[[nodiscard]] Result<> translate_paddle(Translation& translation);
std::span<const CompatOption> horovodrun_options();
[[nodiscard]] Result<> translate_horovodrun(Translation& translation);
std::span<const CompatOption> mpirun_options();
[[nodiscard]] Result<> translate_mpirun(Translation& translation);

/// Gang timeout for msrun's cluster timeout in seconds: a negative number is a year.
Sourced<std::string> gang_timeout_of(const Sourced<std::string>& seconds);

/// Keys of torchrun's --rdzv-conf, as options without dashes.
std::span<const CompatOption> rendezvous_keys();

/// Translates torchrun's --rdzv-conf: each key becomes a setting, or a notice that it is ignored.
[[nodiscard]] Result<> translate_rendezvous_conf(Translation& translation, const Sourced<std::string>& text);

// Texts for users, made from a table of options.
std::string compat_help(const CompatLauncher& compat);
std::string compat_table(const CompatLauncher& compat);
[[nodiscard]] Result<std::string> compat_completion(const CompatLauncher& compat, const Sourced<std::string>& shell);

}  // namespace muster
