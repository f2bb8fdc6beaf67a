#pragma once

// Describes modes: templates of roles, files, inputs and services; the choice of a mode; and {placeholders} in texts.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "modes/mpi_request.hpp"
#include "options/settings.hpp"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

/// Number of processes of a role.
enum class RoleCount {
  None,          ///< none, unless --roles or the platform's task lists give a number
  PerJob,        ///< one, on the node with rank 0
  PerNode,       ///< one on each node
  PerOtherNode,  ///< one on each node but the first
  PerDevice,     ///< one for each slot of each node
};

/// Text with {placeholders} by name, in the order of the template.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// One kind of process that a mode starts.
struct RoleTemplate {
  std::string name;
  RoleCount count = RoleCount::PerDevice;
  bool may_be_given = false;  ///< --roles, or a platform's task lists, replace `count`
  bool decides_success = true;
  std::string decides_only_without_role;  ///< the role decides success only if the job lacks this role; empty: always
  NamedTexts environment;                 ///< set always
  NamedTexts environment_unless_set;      ///< set when the variable is not inherited
  NamedTexts environment_if_given;        ///< set when all parameters in the text have a value
  std::vector<std::string> program;       ///< replaces the command line's program; empty: it stays
  std::vector<std::string> unset;         ///< inherited variables that must not reach the process
  std::vector<std::string> arguments;     ///< appended to the program's own
  bool arguments_first = false;           ///< `arguments` stand before the program's own ones
  std::vector<std::string> arguments_of_several_nodes;  ///< follow `arguments` in a job with several nodes
  /// Inherited variables with the same meaning: where one of them is set, the arguments are left out.
  std::vector<std::string> arguments_unless_set;
  bool listens = false;           ///< each process has its own port, which all others know
  std::string label;              ///< prefix of its console lines; empty: the global rank
  bool is_unranked = false;       ///< not one of the job's ranks, such as mpirun; messages use only its label
  std::string working_directory;  ///< created if missing; empty: where muster was started
  std::string log;                ///< name of its log file; empty: attempt_<a>/<role>_<rank>
  bool joins_streams = false;     ///< output and error go into one file, NAME.log
  std::string error_file;         ///< path where the process writes its error: {error_file}
};

/// A value that the user may give to a template with --set, such as a timeout of the framework.
struct Parameter {
  std::string name;
  std::string otherwise;                 ///< default; may be empty
  bool is_integer = false;               ///< the value must be an integer
  std::vector<std::string> variables{};  ///< supply a value that is not given; the first that is set wins
  bool finds_rank_table = false;         ///< if none of them is set, the path of the rank table that is found
  bool is_log_dir = false;               ///< log files go there where the user names no directory
};

/// A file to write before the processes start.
struct FileTemplate {
  std::string path;
  std::string mode = "0640";  ///< octal permissions
  std::string content;
  bool is_private = false;  ///< removed when the workers have ended
  std::string place{};      ///< its place in the template, for messages: "mine.yaml:4: /files/0"
};

/// A file that another program writes, such as a controller, and that must exist before anything starts.
struct InputTemplate {
  std::string file;                 ///< path; the file is wanted if each parameter in the path has a value
  std::string what;                 ///< its name in messages, such as "rank table"
  std::string field;                ///< field of the JSON object in it; empty: the file only has to exist
  std::string wanted;               ///< required value of that field
  bool is_rank_table = false;       ///< true: no field is compared; the file must be a complete rank table
  bool adds_pod_addresses = false;  ///< adds the known `pod_ip` values to the workers' copy
};

/// A framework's rules for starting its processes, read from YAML. docs/modes.md describes each field.
struct ModeTemplate {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<RoleTemplate> roles;
  std::vector<FileTemplate> files;
  std::vector<std::string> services{};                  ///< names of the services that run beside the workers
  std::map<std::string, std::string> service_places{};  ///< their places in the template, as `FileTemplate::place`
  std::vector<InputTemplate> inputs{};
  bool takes_given_port = false;  ///< its processes use the rendezvous port, if one is given
  std::string digest{};           ///< 16 hexadecimal digits over the template's content
};

/// Services that templates need not name: muster adds them for {worker_port}, and for files to be written.
inline constexpr const char* kWorkerPortService = "worker_port";
inline constexpr const char* kPlannedFilesService = "planned_files";
/// Serves the store at {worker_port}, where {agent_store} is True.
inline constexpr const char* kTorchStoreService = "torch_store";
/// Kills workers whose timers have expired, where the job asks for it.
inline constexpr const char* kFileTimerService = "file_timer";
/// Makes one process per device a rank of MPI.
inline constexpr const char* kPmixService = "pmix";
/// Lets mpirun reach the other nodes.
inline constexpr const char* kSshService = "ssh";

/// Placeholder for the path of the rank table that the workers read; empty: the job has none.
inline constexpr const char* kOwnRankTable = "own_rank_table";

/// In a role's program: the command line's program with its arguments.
inline constexpr const char* kUsersProgram = "{program}";
/// In a role's program: the user's options for mpirun.
inline constexpr const char* kMpirunOptions = "{mpirun_options}";
/// In a role's program: the other programs of the same mpirun job, each behind ":".
inline constexpr const char* kOtherPrograms = "{mpirun_programs}";
/// In a role's program: the names of variables that mpirun passes to other nodes.
inline constexpr const char* kExports = "{exports}";

/// Placeholders that name a role: {count:worker}, {endpoints:ps}.
inline constexpr const char* kCountOf = "count";
inline constexpr const char* kEndpointsOf = "endpoints";

/// All texts of the role, or of the whole mode, in which placeholders are filled.
std::vector<std::string> texts_of(const RoleTemplate& role);
std::vector<std::string> texts_of(const ModeTemplate& mode);

/// True when a text uses the placeholder.
bool use_placeholder(const std::vector<std::string>& texts, const std::string& placeholder);
/// All placeholders of these texts, found in one pass.
std::set<std::string> used_placeholders(const std::vector<std::string>& texts);
/// True when a text uses the port where the workers meet.
bool use_worker_port(const std::vector<std::string>& texts);

/// True when processes of the role run the command line's program.
bool runs_users_program(const RoleTemplate& role);

/// The roles whose number --roles or the platform may give, in the order in which agents are numbered over them.
std::vector<std::string> roles_to_be_given(const ModeTemplate& mode);

/// The names of the placeholders that any template may use.
const std::vector<std::string>& placeholder_names();

/// `placeholder_names()` and those of a template with these parameters and roles.
std::vector<std::string> placeholder_names(const std::set<std::string>& parameters, const std::set<std::string>& roles);

/// Values of a template's parameters, by name.
using Parameters = std::map<std::string, Sourced<std::string>>;

/// The user's choice of a mode; empty fields were not given.
struct ModeRequest {
  std::optional<Sourced<std::string>> name;  ///< a built-in mode, or "auto"
  std::optional<Sourced<std::string>> template_file;
  Parameters parameters;
  MpiRequest mpi{};
};

/// Reads the settings of a ModeRequest, except those of MPI.
ModeRequest read_mode_request(const Settings& settings);

/// The template to use and the reason.
struct ChosenMode {
  ModeTemplate mode;
  Source source;            ///< origin of the choice
  Parameters parameters{};  ///< a value for each parameter of the mode
  MpirunWords mpirun{};
  std::optional<MpiStart> method{};  ///< start method of MPI ranks; empty: another mode
};

/// Chooses the user's template, else the named built-in one. "auto" means, in this order: MA_RUN_METHOD; ps where
/// TF_PS_HOSTS or a TF_CONFIG lists tasks; on Ascend devices, ranktable where a variable names the table, and on
/// ModelArts; torchrun. Fails for an unknown name, an unreadable template, and parameters that the template lacks.
[[nodiscard]] Result<ChosenMode> choose_mode(const ModeRequest& request, const Snapshot& snapshot = {});

/// For MPI: the start methods to try instead, in this order, where the previous ones do not work on all nodes. Empty
/// for other modes. Fails as `choose_mode` does.
[[nodiscard]] Result<std::vector<ChosenMode>> other_start_methods(const ModeRequest& request, const ChosenMode& chosen,
                                                                  const Snapshot& snapshot);

/// True for MPI start methods that let any peer who connects execute commands: on several nodes they need a shared
/// secret.
bool needs_token(const ChosenMode& chosen);

/// The names that `--mode` takes.
std::vector<std::string> mode_names();

/// Replaces each "{name}" of `values`; "{{" and "}}" become braces. Placeholders known only at start, such as
/// {worker_port} and {run_dir}, are marked for `fill_late` by a NUL byte, which no other text of a template or a plan
/// can hold. Other unknown names stay as they are.
std::string fill_placeholders(std::string_view text, const std::map<std::string, std::string>& values);

/// Replaces placeholders in an argument or command of the user: all braces but those of a known "{name}" are text, and
/// so is "${name}".
std::string fill_known(std::string_view text, const std::map<std::string, std::string>& values);

/// The mark for a value that is not known yet.
std::string mark_deferred(std::string_view name);

/// Replaces the marks that have a value, in one pass: values are not searched for placeholders. A text that needs an
/// empty value becomes empty.
std::string fill_late(std::string_view text, const std::map<std::string, std::string>& values);

/// The text without marks, for people.
std::string readable(std::string text);

// The templates of templates/modes, embedded as JSON at build time by embed_templates.cpp.

struct BuiltinTemplate {
  std::string_view name;  ///< name of the file; a mode may have several
  std::string_view mode;
  std::string_view json;
};

std::span<const BuiltinTemplate> builtin_templates();

}  // namespace muster
