#pragma once

// Fills {placeholders} in texts of a template.

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

/// How many processes of a role there are.
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
  std::string decides_without;                          ///< decides only in a job without this role; empty: in each
  NamedTexts environment;                               ///< set always
  NamedTexts environment_unless_set;                    ///< set when the variable is not inherited
  NamedTexts environment_if_given;                      ///< set when all parameters in the text have a value
  std::vector<std::string> program;                     ///< instead of the command line's; empty: that one
  std::vector<std::string> unset;                       ///< inherited variables that must not reach the process
  std::vector<std::string> arguments;                   ///< appended to the program's own
  bool arguments_first = false;                         ///< they stand before the program's own, all of them
  std::vector<std::string> arguments_of_several_nodes;  ///< behind those when there are several
  /// Inherited variables that say the same: where one of them is set, the arguments are left out.
  std::vector<std::string> arguments_unless_set;
  bool listens = false;           ///< each process has a port of its own that all others know
  std::string label;              ///< what its lines on the console begin with; empty: the global rank
  bool is_unranked = false;       ///< none of the job's ranks, as mpirun: called by its label alone
  std::string working_directory;  ///< made if it is missing; empty: where muster was started
  std::string log;                ///< name of its log file; empty: attempt_<a>/<role>_<rank>
  bool joins_streams = false;     ///< output and error go into one file, NAME.log
  std::string error_file;         ///< where the process writes why it failed: {error_file}
};

/// A value that the user may give to a template with --set, such as a timeout of the framework.
struct Parameter {
  std::string name;
  std::string otherwise;                 ///< when nobody gives it; may be empty
  bool is_integer = false;               ///< what is given must be an integer
  std::vector<std::string> variables{};  ///< the first that is set says it, where nobody gives it
  bool finds_rank_table = false;         ///< then where the surroundings have a rank table
  bool is_log_dir = false;               ///< log files go there where the user names no folder
};

/// A file to write before the processes start.
struct FileTemplate {
  std::string path;
  std::string mode = "0640";  ///< octal permissions
  std::string content;
  bool is_private = false;  ///< removed when the workers have ended
  std::string place{};      ///< where it stands, for messages: "mine.yaml:4: /files/0"
};

/// A file that somebody else writes, such as a controller, and without which nothing is started.
struct InputTemplate {
  std::string file;                 ///< wanted if each parameter in it has a value
  std::string what;                 ///< what messages call it, such as "rank table"
  std::string field;                ///< of the JSON object in it; empty: it has to be there, and that is all
  std::string wanted;               ///< what that field has to be
  bool is_rank_table = false;       ///< instead: it has to be a rank table that is complete
  bool adds_pod_addresses = false;  ///< the workers' copy has `pod_ip`, as far as that is known
};

/// How a framework wants its processes started: data, read from YAML. docs/modes.md describes
/// each field.
struct ModeTemplate {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<RoleTemplate> roles;
  std::vector<FileTemplate> files;
  std::vector<std::string> services{};                  ///< what runs beside the workers, by name
  std::map<std::string, std::string> service_places{};  ///< where their names stand, as of a file
  std::vector<InputTemplate> inputs{};
  bool takes_given_port = false;  ///< its processes meet at the rendezvous, if a port is given for it
  std::string digest{};           ///< of what the template says: 16 hexadecimal digits
};

/// Services that a job needs without naming them: who uses {worker_port}, or has files to be written.
inline constexpr const char* kWorkerPortService = "worker_port";
inline constexpr const char* kPlannedFilesService = "planned_files";
/// Has the store at {store_port}.
inline constexpr const char* kHorovodStoreService = "horovod_store";
/// Has the store at {worker_port}, where {agent_store} is True.
inline constexpr const char* kTorchStoreService = "torch_store";
/// Kills workers whose timers have expired, where that is asked for.
inline constexpr const char* kFileTimerService = "file_timer";
/// By this one a process of each device is a rank of MPI.
inline constexpr const char* kPmixService = "pmix";
/// By this one mpirun reaches the other nodes.
inline constexpr const char* kSshService = "ssh";

/// The path of the table that the workers are to read; empty: the job has none.
inline constexpr const char* kOwnRankTable = "own_rank_table";

/// Stands in a role's program for that of the command line, with its arguments.
inline constexpr const char* kUsersProgram = "{program}";
/// Stands in a role's program for the options that the user gives mpirun.
inline constexpr const char* kMpirunOptions = "{mpirun_options}";
/// Stands there for the other programs of the same job of mpirun, each behind ":".
inline constexpr const char* kOtherPrograms = "{mpirun_programs}";
/// Stands there for the names of variables that mpirun takes to other nodes.
inline constexpr const char* kExports = "{exports}";

/// Placeholders that name a role: {count:worker}, {endpoints:ps}.
inline constexpr const char* kCountOf = "count";
inline constexpr const char* kEndpointsOf = "endpoints";

/// Every text of the role, or of the whole mode, in which placeholders are filled.
[[nodiscard]] std::vector<std::string> texts_of(const RoleTemplate& role);
[[nodiscard]] std::vector<std::string> texts_of(const ModeTemplate& mode);

/// True when a text uses the placeholder.
[[nodiscard]] bool use_placeholder(const std::vector<std::string>& texts, const std::string& placeholder);
/// True when a text names the port where the workers meet.
[[nodiscard]] bool use_worker_port(const std::vector<std::string>& texts);

/// True when processes of the role run the program of the command line.
[[nodiscard]] bool runs_users_program(const RoleTemplate& role);

/// The roles whose number may be given, in the order in which agents are numbered over them.
[[nodiscard]] std::vector<std::string> roles_to_be_given(const ModeTemplate& mode);

/// The names of the placeholders that any template may use.
[[nodiscard]] const std::vector<std::string>& placeholder_names();

/// Those, and the ones of a template with these parameters and roles.
[[nodiscard]] std::vector<std::string> placeholder_names(const std::set<std::string>& parameters,
                                                         const std::set<std::string>& roles);

/// Values of a template's parameters, by name.
using Parameters = std::map<std::string, Sourced<std::string>>;

/// What the user says about the mode. Empty: nothing.
struct ModeRequest {
  std::optional<Sourced<std::string>> name;  ///< of a mode that is built in, or "auto"
  std::optional<Sourced<std::string>> template_file;
  Parameters parameters;
  MpiRequest mpi{};
};

/// The one reader of these settings, but for those of MPI.
[[nodiscard]] ModeRequest read_mode_request(const Settings& settings);

/// Which template to use and why.
struct ChosenMode {
  ModeTemplate mode;
  Source source;            ///< what made the choice
  Parameters parameters{};  ///< a value for each that it has
  MpirunWords mpirun{};
  std::optional<MpiStart> way{};  ///< how ranks of MPI start; empty: another mode
};

/// The user's template, else the built-in one that is named. For "auto", in this
/// order: MA_RUN_METHOD; ps where TF_PS_HOSTS or a TF_CONFIG lists tasks; on Ascend devices, ranktable
/// where a variable names the table, and on ModelArts; torchrun.
/// Fails for a name that is none, a template that cannot be read, and parameters that it lacks.
[[nodiscard]] Result<ChosenMode> choose_mode(const ModeRequest& request, const Snapshot& snapshot = {});

/// Of MPI: the ways that are taken instead, in this order, where those before do not work on all nodes; none
/// for other modes. Fails as `choose_mode` does.
[[nodiscard]] Result<std::vector<ChosenMode>> other_start_methods(const ModeRequest& request, const ChosenMode& chosen,
                                                                  const Snapshot& snapshot);

/// True of a way of MPI by which whoever speaks to the nodes could have them execute anything: on several nodes it needs
/// a secret that they share.
[[nodiscard]] bool needs_token(const ChosenMode& chosen);

/// The names that `--mode` takes.
[[nodiscard]] std::vector<std::string> mode_names();

/// The text with each "{name}" of `values` replaced; "{{" and "}}" become braces. {worker_port} and
/// {run_dir}, where `values` lacks them, are marked for `fill_late` by a NUL byte in front, which no
/// other text of a template or of a plan can hold. Other names that `values` lacks stay as they are.
[[nodiscard]] std::string fill_placeholders(std::string_view text, const std::map<std::string, std::string>& values);

/// The same for an argument of the user's, in which all other braces are text: "{name}" is replaced
/// if it is a placeholder, nothing else is touched.
[[nodiscard]] std::string fill_known(std::string_view text, const std::map<std::string, std::string>& values);

/// What stands in a text for a value that is not known yet.
[[nodiscard]] std::string mark_deferred(std::string_view name);

/// The text with the marks replaced for which there is a value, in one pass: a value that looks like
/// a placeholder is not looked at again. A text that needs a value which is empty becomes empty.
[[nodiscard]] std::string fill_late(std::string_view text, const std::map<std::string, std::string>& values);

/// A text as people read it: without those marks.
[[nodiscard]] std::string readable(std::string text);

// The templates of templates/modes, made into JSON at build time by embed_templates.cpp.

struct BuiltinTemplate {
  std::string_view name;  ///< of its file: several templates may be of one mode
  std::string_view mode;
  std::string_view json;
};

[[nodiscard]] std::span<const BuiltinTemplate> builtin_templates();

}  // namespace muster
