#pragma once

// Defines a platform reader and the facts that it reports, and declares the helpers that readers share.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "options/readers.hpp"
#include "platforms/cluster.hpp"
#include "platforms/request.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Facts that one platform reports. A field is empty where the platform does not set it.
struct PlatformFacts {
  std::optional<Sourced<int>> nodes;  ///< the most that take part
  std::optional<int> least_nodes;     ///< empty: as `nodes`
  std::optional<Sourced<int>> node_rank;
  /// Why `nodes` and `hosts` are not credible; no error where lists of all tasks replace them.
  std::optional<Error> torn_nodes;
  std::optional<Error> no_nodes;  ///< why the number of nodes is unknown although some variable counts them
  /// Why the leader's address is unknown although the platform has a leader, and what to do about it.
  std::optional<Error> no_leader;
  /// The platform's command that starts muster once on each node, "srun --nodes=2 --ntasks=2 --ntasks-per-node=1",
  /// where `nodes` is unknown because that command was not used.
  std::string start_by;
  /// The platform has started this process alone, on one of several hosts: the script of a batch job. `no_nodes` or
  /// `no_rank` says so.
  bool runs_alone = false;
  bool may_be_by_hand = false;                ///< a person may start the others: this is no script
  std::optional<Error> no_rank;               ///< why the rank is unknown although the platform should have set it
  std::optional<Sourced<std::string>> slots;  ///< as for --nproc-per-node
  std::optional<Sourced<int>> workers;        ///< of the whole job
  /// The number of processes of the whole job, used if the user's number of nodes differs from it.
  std::optional<Sourced<int>> processes;
  bool are_processes = false;       ///< `processes` counts processes, whatever number the user gives
  std::string mode_of_workers;      ///< `workers` counts in this mode, or in one of the user
  bool is_total_given = false;      ///< the user has given `workers`: --total-workers or an equivalent
  bool are_nodes_of_total = false;  ///< no source counts the nodes: the number of workers decides
  std::optional<Sourced<std::string>> master_address;
  std::optional<Sourced<int>> master_port;
  std::optional<Sourced<std::vector<std::string>>> hosts;  ///< in order of node rank
  std::vector<std::string> hosts_elsewhere;                ///< of the platform's job, without these nodes
  std::optional<Sourced<std::string>> job_id;
  std::optional<Sourced<int>> restart_count;  ///< how often the platform has started the job again
  /// Time from the platform's SIGTERM to its SIGKILL, by its document.
  std::optional<Sourced<std::chrono::milliseconds>> grace;
  std::optional<HostShare> share;  ///< empty: this host is not shared
  /// It is not known whether others share this host: no variable tells.
  bool is_share_doubtful = false;
  std::vector<UnusedValue> lost;  ///< other values of this platform or the user, with the reason why each is not used
  std::string secret_file;        ///< contains a secret that only the nodes of the job have
  std::string remark;             ///< a notice for the user, whatever is decided; empty: none
};

/// Names of variables, of which the first null ends the list.
using Names = std::array<const char*, 10>;

constexpr std::span<const char* const> names_before_null(const Names& names) {
  return {names.begin(), std::ranges::find(names, nullptr)};
}

/// Variables that reveal a platform.
struct PlatformSigns {
  Names any = {};       ///< the first one that is set is the sign
  Names with = {};      ///< all of these must be set beside it,
  Names with_any = {};  ///< one of these, where there are any,
  Names without = {};   ///< and none of these
};

/// Variables that directly hold a platform's facts, in the order in which they are read. If a fact has several
/// variables, those that are set must agree.
struct PlatformVariables {
  Names nodes = {};
  const char* node_range = nullptr;  ///< "4" or "2:4"
  Names node_rank = {};
  Names address = {};  ///< of the leader
  const char* port = nullptr;
  const char* meeting_point = nullptr;  ///< "host" or "host:port" of the leader
  const char* hosts = nullptr;          ///< a list in the order of ranks; the first host leads
  const char* slots = nullptr;          ///< as for --nproc-per-node
  const char* devices = nullptr;        ///< of this node; 0: the platform has not counted them
  const char* all_devices = nullptr;    ///< of all nodes; must be a multiple of `devices`
  const char* restarts = nullptr;       ///< of the job by the platform, from 0
  const char* job_id = nullptr;
  bool may_be_empty = false;  ///< an empty address or list counts as not set
};

/// A platform: the variables that reveal it, those that describe the job, and code for what no variable simply tells.
struct Platform {
  const char* name;
  const char* sign_text = nullptr;  ///< the signs, for people; null: their names
  PlatformSigns signs = {};
  /// Finds the sign where `signs` cannot say it; empty when the surroundings are not of this platform.
  std::optional<std::string> (*find_sign)(const Snapshot& snapshot) = nullptr;
  PlatformVariables variables = {};
  Result<> (*read)(PlatformFacts& facts, const Snapshot& snapshot) = nullptr;  ///< reads the rest, after `variables`
  /// Variables that count nodes or processes, with '*' for any letters ("VC_*_NUM"): a job must not be smaller than
  /// they say, whichever platform describes it.
  Names counts = {};
  int usual_port = 0;                              ///< of the leader of several nodes; 0: none
  std::optional<std::chrono::seconds> grace = {};  ///< from SIGTERM to SIGKILL, by the platform's document
  bool may_lack_rank = false;                      ///< node ranks may go by order of arrival
  bool is_list_of_tasks = false;                   ///< described by the task lists alone
};

/// The variable that reveals the platform; empty when the surroundings are not of this platform.
std::optional<std::string> find_sign(const Platform& platform, const Snapshot& snapshot);

/// The signs, for people: "MA_NUM_HOSTS or MA_VJ_NAME".
std::string describe_signs(const Platform& platform);

/// Reads what the platform says about the job.
[[nodiscard]] Result<PlatformFacts> read_platform(const Platform& platform, const Snapshot& snapshot);

/// Reads these variables into `facts`.
[[nodiscard]] Result<> read_variables(PlatformFacts& facts, const PlatformVariables& variables,
                                      const Snapshot& snapshot);

/// Replaces the platform's values by the user's, field by field; notes each replaced value as lost.
void apply_request(PlatformFacts& facts, const ClusterRequest& request);

/// All platforms, most specific first: HAI and the operators also set the bare names, with meanings of their own. A
/// macro, so that a platform is one line.
#define MUSTER_PLATFORMS(PLATFORM) \
  PLATFORM(kHai)                   \
  PLATFORM(kModelarts)             \
  PLATFORM(kModelartsV1)           \
  PLATFORM(kAscendOperator)        \
  PLATFORM(kSagemaker)             \
  PLATFORM(kVolcengine)            \
  PLATFORM(kPaiDlc)                \
  PLATFORM(kTencentTi)             \
  PLATFORM(kAihc)                  \
  PLATFORM(kAzureml)               \
  PLATFORM(kVertex)                \
  PLATFORM(kAwsBatch)              \
  PLATFORM(kSkypilot)              \
  PLATFORM(kDstack)                \
  PLATFORM(kRunpod)                \
  PLATFORM(kDetermined)            \
  PLATFORM(kOpenpai)               \
  PLATFORM(kMpirun)                \
  PLATFORM(kPytorchjob)            \
  PLATFORM(kPet)                   \
  PLATFORM(kMpijob)                \
  PLATFORM(kPaddlejob)             \
  PLATFORM(kJaxjob)                \
  PLATFORM(kVolcano)               \
  PLATFORM(kTfjob)                 \
  PLATFORM(kLeaderWorkerSet)       \
  PLATFORM(kJobset)                \
  PLATFORM(kSlurm)                 \
  PLATFORM(kPbs)                   \
  PLATFORM(kLsf)                   \
  PLATFORM(kFlux)                  \
  PLATFORM(kBare)                  \
  PLATFORM(kIndexedJob)

#define MUSTER_DECLARE_PLATFORM(NAME) extern const Platform NAME;
MUSTER_PLATFORMS(MUSTER_DECLARE_PLATFORM)
#undef MUSTER_DECLARE_PLATFORM

std::span<const Platform* const> platforms();

constexpr int kMostNodes = 1'000'000;

/// More than any job has, and small enough for an int sum over all roles of a template.
constexpr int kMostWorkers = 10'000'000;

/// The first of these variables that is set, used as a platform's sign.
std::optional<std::string> first_set(const Snapshot& snapshot, const Names& names);

/// Variables of PyTorch jobs on platforms whose documents say that they count nodes.
inline constexpr PlatformVariables kTorchNodes = {
    .nodes = {"WORLD_SIZE"}, .node_rank = {"RANK"}, .address = {"MASTER_ADDR"}, .port = "MASTER_PORT"};

/// The index of this pod within its task, from the first of these variables that is set. Fails where another one
/// disagrees. Empty when none is set.
[[nodiscard]] Result<std::optional<Sourced<int>>> read_task_index(const Snapshot& snapshot, const Names& names);

/// Reads "4" or "2:4".
[[nodiscard]] Result<Sourced<NodeRange>> read_node_range(const Sourced<std::string>& text);

/// Sets the number of nodes from the platform's or the user's range.
void set_nodes(PlatformFacts& facts, const Sourced<NodeRange>& range);

/// Each of these functions reads a value strictly; an error names its source.
[[nodiscard]] Result<Sourced<int>> read_node_count(const Sourced<std::string>& text);
[[nodiscard]] Result<Sourced<int>> read_node_rank(const Sourced<std::string>& text);
[[nodiscard]] Result<Sourced<int>> read_port(const Sourced<std::string>& text);
[[nodiscard]] Result<Sourced<std::string>> read_address(const Sourced<std::string>& text);

/// Read as `read_number_within` and `read_integer` do, and keep the source.
template <int kLeast, int kMost, Literal kWhat>
Result<Sourced<int>> read_sourced_number(const Sourced<std::string>& text) {
  return Sourced<int>{TRY(read_number_within(text, kLeast, kMost, kWhat.text.data())), text.source};
}
template <int kLeast, int kMost, Literal kExpected>
Result<Sourced<int>> read_sourced_integer(const Sourced<std::string>& text) {
  return Sourced<int>{TRY(read_integer(text, kLeast, kMost, kExpected.text.data())), text.source};
}

/// Reads `text` by `reader`; empty where there is none.
template <typename T>
[[nodiscard]] Result<std::optional<Sourced<T>>> read_given(const std::optional<Sourced<std::string>>& text,
                                                           Result<Sourced<T>> (*reader)(const Sourced<std::string>&)) {
  return text ? std::optional(TRY(reader(*text))) : std::nullopt;
}

/// Reads the variable `name` by `reader`; empty where it is not set.
template <typename T>
[[nodiscard]] Result<std::optional<Sourced<T>>> read_variable(
    const Snapshot& snapshot, const std::string& name, Result<Sourced<T>> (*reader)(const Sourced<std::string>&)) {
  return read_given(sourced_variable(snapshot, name), reader);
}

/// Reads the variable `name` into `field`, which stays where the variable is not set.
template <typename T>
[[nodiscard]] Result<> read_into(std::optional<Sourced<T>>& field, const Snapshot& snapshot, const std::string& name,
                                 Result<Sourced<T>> (*reader)(const Sourced<std::string>&)) {
  if (auto value = TRY(read_variable(snapshot, name, reader))) {
    field = std::move(value);
  }
  return {};
}

/// Reads the first of these variables that is set into `field`. Fails where another one disagrees; `why` completes
/// the error ("both are the rank of this node").
template <typename T>
[[nodiscard]] Result<> read_agreeing(std::optional<Sourced<T>>& field, const Snapshot& snapshot, const Names& names,
                                     Result<Sourced<T>> (*reader)(const Sourced<std::string>&), std::string_view why);

/// "A is 'x' but B is 'y': <why they cannot both be true>".
Error contradiction(const Sourced<std::string>& one, const Sourced<std::string>& other, std::string_view why);
Error contradiction(const Sourced<int>& one, const Sourced<int>& other, std::string_view why);

template <typename T>
Result<> read_agreeing(std::optional<Sourced<T>>& field, const Snapshot& snapshot, const Names& names,
                       Result<Sourced<T>> (*reader)(const Sourced<std::string>&), std::string_view why) {
  for (const char* const name : names_before_null(names)) {
    const auto given = TRY(read_variable(snapshot, name, reader));
    if (field && given && field->value != given->value) {
      return contradiction(*field, *given, why);
    }
    field = field ? field : given;
  }
  return {};
}

// Lists of all processes of a job, role by role, as TensorFlow's platforms give them: each process is a separate
// agent.

/// Names of roles, in the order in which agents are numbered over them.
using Roles = std::vector<std::string>;

/// All processes of a job, and the position of this one.
struct TaskLists {
  std::vector<RoleEndpoints> roles;  ///< roles with processes, in the order of numbering
  std::string role;                  ///< of this process
  int index = 0;                     ///< within the role of this process
  bool is_alone = false;             ///< an evaluator that the lists lack: a separate job
  bool is_task_config = false;       ///< scripts find the same lists in TF_CONFIG
  Source source;                     ///< of the lists
  Source own_source;                 ///< of this process's role and index
};

/// The roles that TensorFlow knows.
const Roles& tensorflow_roles();

/// Reads "a:1,b:2" or "[a:1,b:2]", with or without blanks after the commas; IPv6 addresses as in "[::1]:5000". Fails
/// for an entry that is no host:port, and names it.
[[nodiscard]] Result<std::vector<std::string>> read_endpoints(const Sourced<std::string>& text);

/// Reads TF_CONFIG: {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 0}}. Drops roles that
/// `roles` lacks; "master" is an old name of "chief".
[[nodiscard]] Result<TaskLists> read_task_config(const Sourced<std::string>& text, const Roles& roles);

/// Fails unless the text is "host:port" with a port from 1 to 65535.
[[nodiscard]] Result<> check_endpoint(const Sourced<std::string>& text);

/// Fails for duplicate entries: each process needs its own address.
[[nodiscard]] Result<> check_endpoints_differ(const std::vector<RoleEndpoints>& lists, const Source& source);

/// The endpoints of a role; null when it has none.
const RoleEndpoints* find_role(const std::vector<RoleEndpoints>& lists, const std::string& role);

/// The number of processes of each role, in the order of numbering. For a lone evaluator, only itself.
std::vector<RoleSize> sizes_of(const TaskLists& tasks);

/// The number of this process's agent, counted over the roles in order.
int number_of(const TaskLists& tasks);

/// The hosts of all agents, by number; a lone evaluator has no known host.
std::vector<std::string> hosts_of(const TaskLists& tasks);

// Chooses the platform that describes the cluster.

/// The chosen platform, and the reason.
struct Choice {
  const Platform* platform = nullptr;  ///< null: only flags and defaults
  std::string name;                    ///< given by --platform; empty: detected
  Source source;
};

/// Chooses --platform, else the most specific platform whose sign is set; "^NAME" excludes one. `roles` as for
/// describe_cluster.
[[nodiscard]] Result<Choice> choose_platform(const Snapshot& snapshot, const ClusterRequest& request,
                                             const Roles& roles);

/// The platform whose variables are ignored because the form of another launcher's command line implies "flags" or
/// "single". Null: there is none, or the user has chosen "flags" or "single".
const Platform* find_passed_over(const Choice& choice, const Snapshot& snapshot, const ClusterRequest& request,
                                 const Roles& roles);

/// Reads a number of restarts, such as the value of --max-restarts: an integer of at least 0.
[[nodiscard]] Result<Sourced<int>> read_restarts(const Sourced<std::string>& text);

/// `given`, else PET_MAX_RESTARTS, else 0.
[[nodiscard]] Result<Sourced<int>> find_restarts(const Snapshot& snapshot, const std::optional<Sourced<int>>& given);

}  // namespace muster
