#pragma once

// What a platform reader is, and the small tools that the readers share.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "platforms/cluster.hpp"
#include "platforms/request.hpp"

#include <chrono>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// What one platform says. Each field is empty where it says nothing.
struct PlatformFacts {
  std::optional<Sourced<int>> nodes;  ///< the most that take part
  std::optional<int> least_nodes;     ///< empty: as `nodes`
  std::optional<Sourced<int>> node_rank;
  /// Why `nodes` and `hosts` cannot be believed; no error where lists of all tasks replace them.
  std::optional<Error> torn_nodes;
  std::optional<Error> no_nodes;  ///< why they are not known, though something counts them
  /// Why it is not known where the leader is, though the platform has one, and what to do about it.
  std::optional<Error> no_leader;
  /// The platform's own command for one of us on each node, "srun --nodes=2 --ntasks=2 --ntasks-per-node=1", where
  /// nothing says `nodes` because it was not used.
  std::string start_by;
  std::optional<Error> no_rank;               ///< why it is not known, where the platform should have said it
  std::optional<Sourced<std::string>> slots;  ///< as for --nproc-per-node
  std::optional<Sourced<int>> workers;        ///< of the whole job
  /// A number that counts the processes of the whole job, if the user's number of nodes is another one.
  std::optional<Sourced<int>> processes;
  bool are_processes = false;       ///< it does, whatever number the user gives
  std::string mode_of_workers;      ///< the mode in which the platform counts them
  bool is_total_given = false;      ///< --total-workers, or what stands for it, counts them
  bool are_nodes_of_total = false;  ///< nobody counts the nodes: as many as workers need
  std::optional<Sourced<std::string>> master_address;
  std::optional<Sourced<int>> master_port;
  std::optional<Sourced<std::vector<std::string>>> hosts;  ///< in order of node rank
  std::optional<Sourced<std::string>> job_id;
  std::optional<Sourced<int>> restart_count;  ///< how often the platform has started the job again
  /// What the platform itself leaves a job between TERM and KILL, by its document.
  std::optional<Sourced<std::chrono::milliseconds>> grace;
  std::optional<HostShare> share;  ///< empty: all of this host is ours
  /// It may also be a node that has its host to itself: nothing says that others share theirs.
  bool is_share_doubtful = false;
  std::vector<UnusedValue> lost;  ///< what else this platform or the user says, and why it is not believed
  std::string secret_file;        ///< holds what all nodes of the job share and nobody else has
  std::string remark;             ///< for the user, beside whatever is decided; empty: none
};

/// A platform: how to recognise its variables and how to read them.
struct Platform {
  const char* name;
  const char* signs;  ///< for people: the variables that give it away
  /// The variable that gives it away here; empty when this is not the platform.
  std::optional<std::string> (*find_sign)(const Snapshot& snapshot);
  Result<PlatformFacts> (*read)(const Snapshot& snapshot);
  /// Its variables that say how many there are, with '*' for any letters ("VC_*_NUM"): a job must not be
  /// smaller than what they say, whoever describes it.
  std::span<const char* const> counts = {};
  bool may_lack_rank = false;     ///< node ranks may go by order of arrival
  bool is_list_of_tasks = false;  ///< all of it is in the task lists, see tasks.hpp
};

/// What the user says replaces what the platform says, field by field; what was there is noted as lost.
void apply_request(PlatformFacts& facts, const ClusterRequest& request);

/// All platforms, most specific first: HAI and the operators set the bare names too, with meanings of
/// their own. Each is defined in the file of its name. A macro, so that a platform is one line.
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

[[nodiscard]] std::span<const Platform* const> platforms();

constexpr int kMostNodes = 1'000'000;

/// More than any job has, and few enough to be counted in an int for every role of a template.
constexpr int kMostWorkers = 10'000'000;

/// The first of these variables that is set, as a platform's sign.
[[nodiscard]] std::optional<std::string> first_set(const Snapshot& snapshot, std::initializer_list<const char*> names);

/// WORLD_SIZE, RANK, MASTER_ADDR and MASTER_PORT on a platform whose document says that the first two count
/// nodes.
[[nodiscard]] Result<> read_torch_nodes(PlatformFacts& facts, const Snapshot& snapshot);

/// The index of this pod within its task, from the first of these variables that is set; the others
/// must say the same. Empty when none is set.
[[nodiscard]] Result<std::optional<Sourced<int>>> read_task_index(const Snapshot& snapshot,
                                                                  std::initializer_list<const char*> names);

/// "4" or "2:4".
[[nodiscard]] Result<Sourced<NodeRange>> read_node_range(const Sourced<std::string>& text);

/// As the platform, or the user, counts them.
void set_nodes(PlatformFacts& facts, const Sourced<NodeRange>& range);

/// Each of these reads a value strictly and fails by naming its source.
[[nodiscard]] Result<Sourced<int>> read_node_count(const Sourced<std::string>& text);
[[nodiscard]] Result<Sourced<int>> read_node_rank(const Sourced<std::string>& text);
[[nodiscard]] Result<Sourced<int>> read_port(const Sourced<std::string>& text);
[[nodiscard]] Result<Sourced<std::string>> read_address(const Sourced<std::string>& text);

/// Reads `text` by `reader` into `field`; leaves it as it is when nothing is given.
template <typename T>
[[nodiscard]] Result<> read_into(std::optional<Sourced<T>>& field, const std::optional<Sourced<std::string>>& text,
                                 Result<Sourced<T>> (*reader)(const Sourced<std::string>&)) {
  if (!text) {
    return {};
  }
  auto value = reader(*text);
  if (!value) {
    return value.error();
  }
  field = std::move(*value);
  return {};
}

/// The same for the variable `name`.
template <typename T>
[[nodiscard]] Result<> read_into(std::optional<Sourced<T>>& field, const Snapshot& snapshot, const std::string& name,
                                 Result<Sourced<T>> (*reader)(const Sourced<std::string>&)) {
  return read_into(field, sourced_variable(snapshot, name), reader);
}

/// The first of these variables that is set, read into `field`. All that are set must say the same:
/// `why` they must ("both are the rank of this node").
template <typename T>
[[nodiscard]] Result<> read_agreeing(std::optional<Sourced<T>>& field, const Snapshot& snapshot,
                                     std::initializer_list<const char*> names,
                                     Result<Sourced<T>> (*reader)(const Sourced<std::string>&), std::string_view why);

/// "A is 'x' but B is 'y': <why they cannot both be true>".
[[nodiscard]] Error contradiction(const Sourced<std::string>& one, const Sourced<std::string>& other,
                                  std::string_view why);
[[nodiscard]] Error contradiction(const Sourced<int>& one, const Sourced<int>& other, std::string_view why);

template <typename T>
Result<> read_agreeing(std::optional<Sourced<T>>& field, const Snapshot& snapshot,
                       std::initializer_list<const char*> names,
                       Result<Sourced<T>> (*reader)(const Sourced<std::string>&), std::string_view why) {
  for (const char* const name : names) {
    std::optional<Sourced<T>> given;
    if (auto read = read_into(given, snapshot, name, reader); !read) {
      return read;
    }
    if (field && given && field->value != given->value) {
      return contradiction(*field, *given, why);
    }
    field = field ? field : given;
  }
  return {};
}

// Lists of all processes of a job, role by role, as TensorFlow's platforms give them: each process
// is an agent of its own.

/// Names of roles, in the order in which agents are numbered over them.
using Roles = std::vector<std::string>;

/// All processes of a job, and which of them this is.
struct TaskLists {
  std::vector<RoleEndpoints> roles;  ///< those with processes, in the order of numbering
  std::string role;                  ///< ours
  int index = 0;                     ///< within our role
  bool is_alone = false;             ///< an evaluator that the lists lack: a job of its own
  bool is_task_config = false;       ///< scripts find the same in TF_CONFIG
  Source source;                     ///< what lists them
  Source own_source;                 ///< what says which of them this is
};

/// The roles that TensorFlow knows.
[[nodiscard]] const Roles& tensorflow_roles();

/// "a:1,b:2" or "[a:1,b:2]", with blanks after the commas or not; addresses of version 6 as in
/// "[::1]:5000". Fails by naming the entry that is no host:port.
[[nodiscard]] Result<std::vector<std::string>> read_endpoints(const Sourced<std::string>& text);

/// TF_CONFIG: {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 0}}. Roles
/// that `roles` lacks are left out; "master" is an old name of "chief".
[[nodiscard]] Result<TaskLists> read_task_config(const Sourced<std::string>& text, const Roles& roles);

/// "host:port" with a port from 1 to 65535.
[[nodiscard]] Result<> check_endpoint(const Sourced<std::string>& text);

/// Fails where an entry is found twice: each process needs an address of its own.
[[nodiscard]] Result<> check_endpoints_differ(const std::vector<RoleEndpoints>& lists, const Source& source);

/// The endpoints of a role; null when it has none.
[[nodiscard]] const RoleEndpoints* find_role(const std::vector<RoleEndpoints>& lists, const std::string& role);

/// How many processes each role has, in the order of numbering. Of an evaluator alone, itself.
[[nodiscard]] std::vector<RoleSize> sizes_of(const TaskLists& tasks);

/// Which of the agents this is: the tasks of earlier roles come before.
[[nodiscard]] int number_of(const TaskLists& tasks);

/// The hosts of all agents, by number; an evaluator that stands alone has no known one.
[[nodiscard]] std::vector<std::string> hosts_of(const TaskLists& tasks);

/// Ports of the host of agent 0 on which tasks listen, with their entries. An evaluator that stands
/// alone leads on a host of its own, where nobody listens.
[[nodiscard]] std::map<int, std::string> listeners_on_leader(const TaskLists& tasks);

// Which platform describes the cluster.

/// The platform, and what made it the one.
struct Choice {
  const Platform* platform = nullptr;  ///< empty: no platform speaks, only flags and defaults
  std::string name;                    ///< what --platform asked for by name; empty: detected
  Source source;
};

/// --platform, else the most specific platform whose sign is there; "^NAME" leaves that one out. `roles` as for describe_cluster.
[[nodiscard]] Result<Choice> choose_platform(const Snapshot& snapshot, const ClusterRequest& request,
                                             const Roles& roles);

/// The platform that a form of another launcher's line passes over: such a form chooses "flags" by itself. Null: there
/// is none, or the user has named "flags".
[[nodiscard]] const Platform* find_passed_over(const Choice& choice, const Snapshot& snapshot,
                                               const ClusterRequest& request, const Roles& roles);

// How often all workers may be started again.

[[nodiscard]] Result<Sourced<int>> read_restarts(const Sourced<std::string>& text);

/// As given, else by PET_MAX_RESTARTS, else 0.
[[nodiscard]] Result<Sourced<int>> find_restarts(const Snapshot& snapshot, const std::optional<Sourced<int>>& given);

}  // namespace muster
