#pragma once

// Reads this process's surroundings once, as a plain value, and names the variables that muster sets for workers
// (docs/control.md).

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
  std::vector<int> ascend_ids = {};  ///< the numbers N of those files; empty where only the count is known
  int amd = 0;                       ///< nodes with compute units in the KFD topology
  int gaudi = 0;                     ///< Habana's
  int neuron_cores = 0;              ///< sum over /dev/neuron0, /dev/neuron1, ...
  int cores_of_neuron = 0;           ///< physical cores of one such device
  int intel = 0;                     ///< data-centre GPUs
  int intel_tiles = 0;               ///< sum over all GPUs, at least one each
  int tpu = 0;                       ///< Google's chips
};

/// Processor cores that this process may use.
struct AllowedCores {
  int count = 1;       ///< at least 1
  std::string source;  ///< "affinity" or the control group file that limits it
  int of_parent = 0;   ///< cores of the parent process; 0: unknown
};

/// Everything about the surroundings that decisions depend on, read once at the start. A plain value, which tests
/// write by hand. `Lazy` members are read once as well, on first use.
struct Snapshot {
  std::map<std::string, std::string> variables;
  std::string host_name;
  std::string working_directory;
  bool has_input = false;  ///< standard input is a file or a pipe
  HostDevices devices;
  AllowedCores cores;
  /// Content, by path, of the files that platforms mount for their jobs or name in a variable. Unreadable files are
  /// missing.
  std::map<std::string, std::string> files;
  /// Path of the job's rank table, or of the directory in which a controller will write it: the first existing one of
  /// `kRankTablePlaces`. Empty: none exists.
  std::string rank_table;
  Lazy<std::vector<std::string>> addresses;   ///< numeric addresses of this host's interfaces, without loopback
  Lazy<std::vector<std::string>> interfaces;  ///< names of the interfaces that are up and have an address
  /// Digest of the meaning of accelerator numbers here: if it is equal in two processes, equal numbers are the same
  /// device. Empty: unknown.
  Lazy<std::string> device_view;
  /// Private key that Volcano's ssh plugin mounts into every pod of a job, used as their shared secret. Empty: none
  /// is readable.
  std::string volcano_ssh_key;

  /// Value of a variable, possibly empty; nullopt when it is not set.
  std::optional<std::string> variable(std::string_view name) const;
  bool has(std::string_view name) const { return variable(name).has_value(); }
};

/// A variable with its name; empty when it is not set.
std::optional<Sourced<std::string>> sourced_variable(const Snapshot& snapshot, const std::string& name);

/// True if the name ends like a variable by which a batch system gives the path of a host list.
bool names_host_file(std::string_view variable);

/// Directory in which Volcano's svc plugin mounts a file "<task>.host" for each task of the job.
inline constexpr const char* kVolcanoFolder = "/etc/volcano";
inline constexpr const char* kHostFileEnding = ".host";

/// Rank tables of ModelArts; of hccl-controller and ascend-operator; then their directories, which exist before the
/// file does. Source: ModelArts, "Preset images"; MindCluster, ascend-operator.
inline constexpr std::array<const char*, 4> kRankTablePlaces = {"/user/config/jobstart_hccl.json",
                                                                "/user/serverid/devindex/config/hccl.json",
                                                                "/user/config", "/user/serverid/devindex/config"};

/// Finds the path of the job's table, a file or a directory: RANK_TABLE_FILE_V_1_0, then RANK_TABLE_FILE, then the
/// controllers' places. Empty: none.
std::optional<Sourced<std::string>> find_table_file(const Snapshot& snapshot);

/// Overwrites a variable in the memory that /proc/PID/environ shows, of this process and of processes that it forks.
/// Snapshots that were taken before keep the value.
void wipe_variable(const std::string& name);

/// The variables of this process.
std::map<std::string, std::string> read_variables();

/// Reads the surroundings of this process.
Snapshot take_snapshot();

/// Reads the files for `Snapshot::files` that exist here.
std::map<std::string, std::string> read_mounted_files(const Snapshot& snapshot);

/// Counts the accelerators of this host without opening a driver.
HostDevices count_host_devices(const std::string& root);

/// Reads `Snapshot::device_view`: the boot, the mounts, and the device files that this process may open, because
/// runtimes number only those.
std::string read_device_view();

/// Counts the cores of the affinity mask, limited by the CPU quota of this process's control groups (v1 and v2).
AllowedCores count_allowed_cores();

/// A path to this program, without blanks and colons, by which other processes can start it while it runs.
std::string program_path();

/// The python3 of the virtual environment (PEP 405) or conda environment whose bin directory contains `argv0`; a name
/// without a directory is searched in `search_path`. Empty: the program is in no such environment.
std::string find_own_python(std::string_view argv0, std::string_view search_path);

/// Candidate directories of muster's Python modules: of an installation, and of a build.
std::array<std::string, 2> own_module_places();

/// First existing one of those directories; empty: none exists.
std::string find_own_modules();

/// Variable in every process of a job; stray processes are recognised by it. A muster inside a worker appends its own
/// mark after a colon.
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
