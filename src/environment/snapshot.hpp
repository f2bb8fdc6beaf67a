#pragma once

// What workers find of muster in their environment (docs/control.md): names that are no options.

#include "base/result.hpp"
#include "environment/mounted_files.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Accelerators that this host shows, as counted on the file system.
struct HostDevices {
  int nvidia = 0;                    ///< files /dev/nvidia0, /dev/nvidia1, ...
  int ascend = 0;                    ///< files /dev/davinci0, /dev/davinci1, ...
  std::vector<int> ascend_ids = {};  ///< their N; empty where only their number is known
  int amd = 0;                       ///< nodes with compute units in the KFD topology
  int gaudi = 0;                     ///< Habana's
  int neuron_cores = 0;              ///< of all files /dev/neuron0, /dev/neuron1, ...
  int cores_of_neuron = 0;           ///< physical ones of one such device
  int intel = 0;                     ///< GPUs of data centres
  int intel_tiles = 0;               ///< of all of them, one each at least
  int tpu = 0;                       ///< chips of Google's
};

/// Processor cores that this process may use.
struct AllowedCores {
  int count = 1;       ///< at least 1
  std::string source;  ///< "affinity" or the control group file that limits it
  int of_parent = 0;   ///< those of the process that started this one; 0: not known
};

/// Everything about the surroundings that decisions depend on, read once at the start. A plain
/// value: tests write one by hand, and nothing after it asks the system again. What is `Lazy` is read once all the same, when it
/// is needed.
struct Snapshot {
  std::map<std::string, std::string> variables;
  std::string host_name;
  std::string working_directory;
  HostDevices devices;
  AllowedCores cores;
  /// What platforms mount for their jobs, or name by a variable: path -> text. A file that cannot be
  /// read is not there.
  std::map<std::string, std::string> files;
  /// Where a controller puts the job's rank table, or the folder in which it will: the first of
  /// `kRankTablePlaces` that is there. Empty: none is.
  std::string rank_table;
  Lazy<std::vector<std::string>> addresses;   ///< of this host's interfaces, but those of its loopback
  Lazy<std::vector<std::string>> interfaces;  ///< the names of those that are up and have an address
  /// The private key that Volcano's ssh plugin mounts into every pod of a job, if it can be read: a
  /// secret that they share. Empty: there is none.
  std::string volcano_ssh_key;

  /// The value of a variable, empty optional when it is not set. An empty value is a value.
  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return variable(name).has_value(); }
};

/// A variable with its name; empty when it is not set.
[[nodiscard]] std::optional<Sourced<std::string>> sourced_variable(const Snapshot& snapshot, const std::string& name);

/// True for a variable whose value is the path of a list of hosts, by how its name ends: every batch system has such a one.
[[nodiscard]] bool names_host_file(std::string_view variable);

/// Volcano's svc plugin mounts a file "<task>.host" for each task of the job here.
inline constexpr const char* kVolcanoFolder = "/etc/volcano";
inline constexpr const char* kHostFileEnding = ".host";

/// ModelArts; hccl-controller and ascend-operator. Then their folders, before the file is there.
/// Source: ModelArts, "Preset images"; MindCluster, ascend-operator.
inline constexpr std::array<const char*, 4> kRankTablePlaces = {"/user/config/jobstart_hccl.json",
                                                                "/user/serverid/devindex/config/hccl.json",
                                                                "/user/config", "/user/serverid/devindex/config"};

/// Overwrites a variable where the kernel shows it to others: /proc/PID/environ of this process, and of those that it
/// forks. Snapshots that were taken before keep it.
void wipe_variable(const std::string& name);

/// The variables of this process.
[[nodiscard]] std::map<std::string, std::string> read_variables();

/// Reads the surroundings of this process.
[[nodiscard]] Snapshot take_snapshot();

/// The files that these surroundings have of those in `Snapshot::files`.
[[nodiscard]] std::map<std::string, std::string> read_mounted_files(const Snapshot& snapshot);

/// The one function that looks for accelerators on the host. No driver is opened.
[[nodiscard]] HostDevices count_host_devices(const std::string& root);

/// Cores by affinity mask, lowered by the CPU quota of the control groups (v1 and v2) above us.
[[nodiscard]] AllowedCores count_allowed_cores();

/// The path of this program, as a word that others can start it by while it runs: without blanks and colons.
[[nodiscard]] std::string program_path();

/// The python3 of the virtual environment (PEP 405) or conda environment whose folder of programs has the name by which we were
/// started; a name without a folder is looked for in `search_path`. Empty: it is in none.
[[nodiscard]] std::string find_own_python(std::string_view argv0, std::string_view search_path);

/// The folders where muster's modules for Python may be: of an installation, and of a build.
[[nodiscard]] std::array<std::string, 2> own_module_places();

/// The first of them that is there; empty: none.
[[nodiscard]] std::string find_own_modules();

/// Every process of a job carries this variable; strays are recognised by it. A muster inside a
/// worker adds its own mark behind a colon.
inline constexpr const char* kMarkerVariable = "MUSTER_JOB_MARKER";

inline constexpr const char* kControlSocketVariable = "MUSTER_CONTROL_SOCKET";
inline constexpr const char* kSuspendFileVariable = "MUSTER_SUSPEND_FILE";
inline constexpr const char* kHeartbeatFileVariable = "MUSTER_HEARTBEAT_FILE";
inline constexpr const char* kRestartCountVariable = "MUSTER_RESTART_COUNT";
inline constexpr const char* kLastVerdictVariable = "MUSTER_LAST_VERDICT";
inline constexpr const char* kJobStateVariable = "MUSTER_JOB_STATE_DIR";

inline constexpr std::array<std::string_view, 6> kWorkerVariables = {kControlSocketVariable, kSuspendFileVariable,
                                                                     kHeartbeatFileVariable, kRestartCountVariable,
                                                                     kLastVerdictVariable,   kJobStateVariable};

}  // namespace muster
