#pragma once

// The command lines of other launchers: one table of options for each, from which parsing, --help,
// the completions and the tables in docs/command-lines.md are made.

#include "base/file_io.hpp"
#include "compat/command_line.hpp"
#include "environment/snapshot.hpp"
#include "modes/mode_template.hpp"
#include "options/syntax.hpp"
#include "platforms/cluster.hpp"

#include <map>

namespace muster {

/// A setting that no option has: how log files are laid out, where it is not muster's own way: `kTorchrunLogs` or `kNoLogs`.
inline constexpr const char* kLogLayout = "log-layout";
inline constexpr const char* kTorchrunLogs = "torchrun";
inline constexpr const char* kNoLogs = "nothing";

/// What becomes of an option of another launcher.
enum class OptionSupport {
  Same,
  Better,   ///< the note says how
  Passed,   ///< given to the original, which muster starts for it; only the original can do that
  Ignored,  ///< the note says why
  Refused   ///< the note says why: to ignore it would run something else than what is asked for
};

/// One option of another launcher.
struct CompatOption {
  const char* name;      ///< as the original spells it, without the dashes in front
  char letter;           ///< short form, or '\0'
  const char* argument;  ///< what its values are called, separated by blanks; nullptr: a switch
  OptionSupport fate;
  const char* note;               ///< for users: what it does here
  const char* setting = nullptr;  ///< gets what is given; nullptr: `translate` knows, or nobody
  const char* choices = nullptr;  ///< for completions, separated by blanks
  bool is_strict = false;         ///< anything else than the choices is an error
  bool may_be_variable = true;    ///< false: the original reads no variable for it
  bool is_passed = false;         ///< the original gets it, too, where muster starts it
  const char* same_as = nullptr;  ///< the option of which this is another name
  bool has_one_dash = false;      ///< a long name behind one dash: "-np"
  bool names_program = false;     ///< for click: unknown options behind it are the program's
};

/// An option of another launcher as it was typed.
struct TypedOption {
  const CompatOption* option;
  std::string name;                 ///< with dashes: "np"
  std::string source;               ///< as it was typed: "-np"
  std::vector<std::string> values;  ///< as many as it has arguments
};

/// Between the options of another launcher and muster's settings.
struct Translation {
  const Snapshot& snapshot;
  /// What is known already, program and notices, which may be changed, and muster's own options: a
  /// variable among them is weaker than what is given as a flag here.
  CommandLine& line;
  const ReadText& read_text;  ///< for files that the line names
  bool is_whole = true;       ///< false: options beside a description of the job, which have no defaults
  std::map<std::string, Sourced<std::string>> given;     ///< by name, with dashes: the last of each
  std::vector<TypedOption> typed;                        ///< all of the command line, in its order
  std::map<std::string, Sourced<std::string>> settings;  ///< what comes out

  [[nodiscard]] bool has(const std::string& name) const { return given.contains(name); }
  /// What is given, if it is given and not empty.
  [[nodiscard]] std::optional<Sourced<std::string>> find(const std::string& name) const;
  /// True for a switch that is given.
  [[nodiscard]] bool is_on(const std::string& name) const;
  void set(const std::string& setting, Sourced<std::string> value);
  /// Gives the workers a variable.
  void export_variable(const std::string& name, Sourced<std::string> value);
  /// Leaves out what an option would have set, and says why.
  void ignore(const std::string& name, const std::string& setting, const std::string& why);
};

/// By whose rules the original reads its command line.
enum class Syntax {
  Argparse,  ///< Python's: a beginning that only one option has is that option, and no value looks like one
  Click,     ///< click's: whole names alone, wherever they stand, also behind the script
  OpenMpi    ///< one dash or two: "-np 4" is "--np 4"
};

/// Another launcher whose command line muster reads.
struct CompatLauncher {
  const char* name;       ///< as a command of muster and as the name of a symlink
  const char* mode;       ///< which template starts the workers
  const char* program;    ///< for --help: what stands behind the options
  const char* summary;    ///< for --help: what is better as a whole, in sentences
  const char* variables;  ///< options are read from variables that begin so; nullptr: from none
  std::span<const CompatOption> (*options)();
  Result<> (*translate)(Translation& translation);  ///< what the table cannot say
  Syntax syntax = Syntax::Argparse;
  const char* aliases = nullptr;  ///< its other names, separated by blanks
  /// What others look for where they ask for the version of the original.
  const char* product = nullptr;
  /// The word that must stand behind the name, where the original has others as well: "launch". nullptr: none.
  const char* subcommand = nullptr;
  /// Name of the original in texts, where it has another than this.
  const char* original = nullptr;
  bool variables_win = false;  ///< over flags, as Paddle's do
};

/// The words by which muster takes its command line: "torchrun", "accelerate launch".
[[nodiscard]] std::string command_of(const CompatLauncher& compat);

/// Name of the original in texts.
[[nodiscard]] std::string original_of(const CompatLauncher& compat);

[[nodiscard]] std::span<const CompatLauncher> compat_launchers();

/// The front end of that name; nullptr if there is none.
[[nodiscard]] const CompatLauncher* find_front_end(std::string_view name);

/// The front end that the program's own name asks for: nullptr for "muster" and for all names that
/// begin so. Fails for a name that means nothing.
[[nodiscard]] Result<const CompatLauncher*> compat_of(std::string_view argv0);

/// A command line of a front end.
struct CompatNames {
  const CompatLauncher& compat;
  std::string called;                   ///< how the user named it
  std::span<const std::string> tokens;  ///< what stands behind its name
};

/// Reads the words, the front end's variables, and MUSTER_*, into `line`, whose settings are what
/// muster's own flags in front have said. `own` are muster's options, which may stand among them. Files that the line
/// names are read by `read_text`.
[[nodiscard]] Result<> read_front_end(CommandLine& line, const CompatNames& words, const OptionTable& own,
                                      const Snapshot& snapshot, const ReadText& read_text);

/// Options of a front end that a variable of the platform holds. They win over everything, and name no file.
[[nodiscard]] Result<> read_extra_options(CommandLine& line, const CompatLauncher& compat,
                                          const Sourced<std::string>& words, const Snapshot& snapshot);

/// What a platform says about how to run, beside who the nodes are: ModelArts' variables for its
/// MA_RUN_METHOD. A worker of another launcher is not asked to be that job again.
[[nodiscard]] Result<> read_run_method(CommandLine& line, const Snapshot& snapshot);

/// Gives the workers of the mode the arguments that the original would give them.
void add_worker_arguments(ModeTemplate& mode, const CommandLine& line);

/// An option as the command line that was read spells it: "--master_addr" for msrun's, else muster's own.
[[nodiscard]] std::string spelled(const CommandLine& line, std::string_view name);

/// What the user should know where the original would have done otherwise, for the start.
[[nodiscard]] std::vector<std::string> compat_notices(const CommandLine& line, const Cluster& cluster);

// The tables
[[nodiscard]] std::span<const CompatOption> torchrun_options();
[[nodiscard]] std::span<const CompatOption> torch_launch_options();
[[nodiscard]] std::span<const CompatOption> msrun_options();
[[nodiscard]] std::span<const CompatOption> deepspeed_options();
[[nodiscard]] Result<> translate_torchrun(Translation& translation);
[[nodiscard]] Result<> translate_torch_launch(Translation& translation);
[[nodiscard]] Result<> translate_msrun(Translation& translation);
[[nodiscard]] Result<> translate_deepspeed(Translation& translation);
[[nodiscard]] std::span<const CompatOption> accelerate_options();
[[nodiscard]] Result<> translate_accelerate(Translation& translation);
[[nodiscard]] std::span<const CompatOption> colossalai_options();
[[nodiscard]] Result<> translate_colossalai(Translation& translation);
[[nodiscard]] std::span<const CompatOption> paddle_options();
[[nodiscard]] Result<> translate_paddle(Translation& translation);
[[nodiscard]] std::span<const CompatOption> horovodrun_options();
[[nodiscard]] Result<> translate_horovodrun(Translation& translation);
[[nodiscard]] std::span<const CompatOption> mpirun_options();
[[nodiscard]] Result<> translate_mpirun(Translation& translation);

/// How long the gang waits where msrun's cluster is given so many seconds: below 0, a year.
[[nodiscard]] Sourced<std::string> gang_timeout_of(const Sourced<std::string>& seconds);

/// The keys of torchrun's --rdzv-conf, as options without dashes.
[[nodiscard]] std::span<const CompatOption> rendezvous_keys();

/// torchrun's --rdzv-conf: each key becomes a setting, or is said to be ignored.
[[nodiscard]] Result<> translate_rendezvous_conf(Translation& translation, const Sourced<std::string>& text);

// Texts for users, made from a table.
[[nodiscard]] std::string compat_help(const CompatLauncher& compat);
[[nodiscard]] std::string compat_table(const CompatLauncher& compat);
[[nodiscard]] Result<std::string> compat_completion(const CompatLauncher& compat, const Sourced<std::string>& shell);

}  // namespace muster
