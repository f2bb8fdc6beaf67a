// Platform readers for Kubernetes: Indexed Job, JobSet, LeaderWorkerSet and the Ascend operator.
//
// Kubernetes' Indexed Job: each pod is a node, and JOB_COMPLETION_INDEX is its rank. No variable of the Job has the
// number of pods: the user sets it (MUSTER_NNODES), or one of the names that bare reads, too.
// Source: kubernetes.io, "Indexed Job for Parallel Processing with Static Work Assignment".
#include "base/text.hpp"
#include "options/readers.hpp"
#include "platforms/platform.hpp"

#include <algorithm>
#include <array>

namespace muster {

const Platform kIndexedJob = {.name = "indexed-job",
                              .signs = {.any = {"JOB_COMPLETION_INDEX"}},
                              .variables = {.nodes = {"NNODES", "NUM_NODES", "NODE_COUNT"},
                                            .node_rank = {"JOB_COMPLETION_INDEX"},
                                            .address = {"MASTER_ADDR"},
                                            .port = "MASTER_PORT"}};

// JobSet: each pod of the set's Indexed Jobs is a node. JobSet sets no variables itself, so the manifest passes on
// its labels (JOBSET_*) by the downward API. JOBSET_PODS_PER_JOB is no label: the user copies the completions of each
// Job from the manifest. The Jobs of a set are numbered, and so are the pods of each Job. If a manifest passes on
// only the numbers of a replicated job or of a group, muster takes this part of the set for the job.
// Source: jobset.sigs.k8s.io, "Labels and annotations"; kubernetes.io, "Indexed Job".

namespace {

/// The labels that count the Jobs of a part of the set, and number this Job among them.
struct Part {
  const char* jobs;
  const char* job;
};

/// The parts, the smallest first.
constexpr std::array<Part, 3> kParts = {{{"JOBSET_REPLICATEDJOB_REPLICAS", "JOBSET_JOB_INDEX"},
                                         {"JOBSET_GROUP_REPLICAS", "JOBSET_JOB_GROUP_INDEX"},
                                         {"JOBSET_GLOBAL_REPLICAS", "JOBSET_JOB_GLOBAL_INDEX"}}};

struct Numbers {
  Part part;
  std::optional<Sourced<int>> jobs;  ///< of the part
  std::optional<Sourced<int>> job;   ///< index of this pod's Job
  std::optional<Sourced<int>> pods;  ///< of each Job
  std::optional<Sourced<int>> pod;   ///< index of this pod
};

/// The smallest part with both size and index; else the available values of the set.
Part find_part(const Snapshot& snapshot) {
  const auto known =
      std::ranges::find_if(kParts, [&](const Part& part) { return snapshot.has(part.jobs) && snapshot.has(part.job); });
  const auto counted =
      std::find_if(kParts.rbegin(), kParts.rend(), [&](const Part& part) { return snapshot.has(part.jobs); });
  return known != kParts.end() ? *known : counted != kParts.rend() ? *counted : kParts.back();
}

Result<Numbers> read_numbers(const Snapshot& snapshot) {
  Numbers numbers;
  numbers.part = find_part(snapshot);
  TRY(read_into(numbers.jobs, snapshot, numbers.part.jobs, read_node_count));
  TRY(read_into(numbers.job, snapshot, numbers.part.job, read_node_rank));
  TRY(read_into(numbers.pods, snapshot, "JOBSET_PODS_PER_JOB", read_node_count));
  TRY(read_into(numbers.pod, snapshot, "JOB_COMPLETION_INDEX", read_node_rank));
  return numbers;
}

/// Multiplies the Jobs by the pods of each.
Result<> count_pods(PlatformFacts& facts, const Numbers& numbers) {
  const int pods = numbers.pods->value;
  const int pod = numbers.pod ? numbers.pod->value : 0;
  if (pod >= pods) {
    return contradiction(*numbers.pod, *numbers.pods, "an index must be below its count");
  }
  const std::string times = "*" + numbers.pods->source.name;
  facts.node_rank = {numbers.job->value * pods + pod, part_of(numbers.job->source, times + "+JOB_COMPLETION_INDEX")};
  if (numbers.jobs) {
    const auto all = static_cast<long long>(numbers.jobs->value) * pods;
    if (all > kMostNodes) {
      return wrong_value({std::to_string(all), part_of(numbers.jobs->source, times)},
                         "at most " + std::to_string(kMostNodes) + " nodes");
    }
    facts.nodes = {static_cast<int>(all), part_of(numbers.jobs->source, times)};
  }
  return {};
}

/// Counts the nodes. A single Job may have any number of pods; several are assumed to have one each.
Result<> read_nodes(PlatformFacts& facts, const Numbers& numbers) {
  if (!numbers.job) {
    if (numbers.jobs) {
      facts.no_nodes = Error{error_kind(numbers.jobs->source),
                             numbers.jobs->source.name + " is '" + std::to_string(numbers.jobs->value) + "', but " +
                                 numbers.part.job +
                                 " is not set, which says which Job of the set this is; pass it on, or give --nnodes"};
    }
    facts.node_rank = numbers.pod;
    return {};
  }
  if (numbers.pods) {
    return count_pods(facts, numbers);
  }
  const bool is_only_job = numbers.jobs && numbers.jobs->value == 1;
  if (is_only_job || !numbers.pod || numbers.pod->value == 0) {
    facts.node_rank = is_only_job && numbers.pod ? numbers.pod : numbers.job;
    facts.nodes = is_only_job ? std::nullopt : numbers.jobs;
    return {};
  }
  facts.no_rank =
      contradiction(*numbers.pod, *numbers.job,
                    "with several pods in each Job of a set neither is a node's rank; say how many each has by "
                    "JOBSET_PODS_PER_JOB, or give --nnodes and --node-rank");
  return {};
}

Result<> read_jobset(PlatformFacts& facts, const Snapshot& snapshot) {
  TRY(read_nodes(facts, TRY(read_numbers(snapshot))));
  for (const char* const name : {"JOBSET_COORDINATOR", "MASTER_ADDR"}) {  // the latter wins
    TRY(read_into(facts.master_address, snapshot, name, read_address));
  }
  return {};
}

}  // namespace

const Platform kJobset = {
    .name = "jobset",
    .sign_text = "JOBSET_*",
    .signs = {.any = {"JOBSET_GLOBAL_REPLICAS", "JOBSET_JOB_GLOBAL_INDEX", "JOBSET_REPLICATEDJOB_REPLICAS",
                      "JOBSET_GROUP_REPLICAS", "JOBSET_COORDINATOR", "JOBSET_NAME"}},
    .variables = {.port = "MASTER_PORT", .restarts = "JOBSET_RESTART_ATTEMPT", .job_id = "JOBSET_NAME"},
    .read = read_jobset,
    .counts = {kParts[0].jobs, kParts[1].jobs, kParts[2].jobs}};

// LeaderWorkerSet: a group of one leader and its workers is a job, and each of its pods a node. The leader has index
// 0. Neither RANK nor WORLD_SIZE is set; those of an image have no meaning.
// Source: kubernetes-sigs/lws, "Labels, Annotations and Environment Variables".

const Platform kLeaderWorkerSet = {
    .name = "leaderworkerset",
    .signs = {.any = {"LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS"}},
    .variables = {.nodes = {"LWS_GROUP_SIZE"}, .node_rank = {"LWS_WORKER_INDEX"}, .address = {"LWS_LEADER_ADDRESS"}},
    .counts = {"LWS_GROUP_SIZE"}};

// The Ascend operator (MindCluster): each pod is a node. The totals count devices (WORLD_SIZE, MS_WORKER_NUM,
// CM_WORKER_SIZE), the ranks count pods (RANK, MS_NODE_RANK, CM_RANK), and LOCAL_RANK is a list such as 0,1,2,3. The
// job's framework decides which of these names exist.
// Source: Ascend/mind-cluster, ascend-operator/pkg/controllers/v1/env.go, and its "Environment Variables".

namespace {

/// A framework's names for the fields.
struct FrameworkNames {
  const char* rank;
  const char* devices;
  const char* local_devices;
  const char* address;
  const char* port;
};

constexpr std::array<FrameworkNames, 3> kFrameworks = {{
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"},
    {"MS_NODE_RANK", "MS_WORKER_NUM", "MS_LOCAL_WORKER", "MS_SCHED_HOST", "MS_SCHED_PORT"},
    {"CM_RANK", "CM_WORKER_SIZE", "CM_LOCAL_WORKER", "CM_CHIEF_IP", "CM_CHIEF_PORT"},
}};

const FrameworkNames* find_framework(const Snapshot& snapshot) {
  const auto found = std::ranges::find_if(kFrameworks, [&](const FrameworkNames& framework) {
    return snapshot.has(framework.rank) && snapshot.has(framework.devices) && snapshot.has(framework.local_devices);
  });
  const bool is_pytorch = found == kFrameworks.begin();
  // Old operators have no MINDX_TASK_ID; then a list of devices is the sign.
  const bool is_list = snapshot.variable("LOCAL_RANK").value_or("").find_first_of(",{") != std::string::npos;
  if (found == kFrameworks.end() || (is_pytorch && !snapshot.has("MINDX_TASK_ID") && !is_list)) {
    return nullptr;
  }
  return &*found;
}

Result<> read_ascend_nodes(PlatformFacts& facts, const FrameworkNames& names, const Snapshot& snapshot) {
  constexpr auto kRead = read_sourced_integer<1, kMostWorkers, "a number of devices of at least 1">;
  const auto all = TRY(read_variable(snapshot, names.devices, kRead));
  const auto local = TRY(read_variable(snapshot, names.local_devices, kRead));
  if (all->value % local->value != 0) {
    return contradiction(*all, *local, "the number of all devices must be a multiple of the devices of one node");
  }
  facts.nodes = {all->value / local->value, part_of(all->source, " / " + local->source.name)};
  facts.slots = as_text(*local);
  return {};
}

/// Error for a scheduler without devices: its pod is no node, but the leader's address leads there.
std::optional<Error> find_lone_scheduler(const PlatformFacts& facts, const Snapshot& snapshot) {
  const auto role = sourced_variable(snapshot, "MS_ROLE");
  const bool has_no_devices = snapshot.variable("NPU_POD") == "false";
  const bool is_first_worker = role && role->value == "MS_WORKER" && facts.node_rank->value == 0;
  if (!role || !(has_no_devices || (is_first_worker && facts.nodes->value > 1))) {
    return std::nullopt;
  }
  return Error{error_kind(role->source),
               role->source.name + " is '" + role->value +
                   "', and the scheduler has a pod of its own that has no devices; request devices for it, which makes "
                   "it the first of the nodes: muster starts the scheduler there"};
}

std::optional<std::string> find_ascend_operator_sign(const Snapshot& snapshot) {
  const FrameworkNames* const names = find_framework(snapshot);
  if (names == nullptr) {
    return std::nullopt;
  }
  return first_set(snapshot, {"MINDX_TASK_ID"}).value_or(names->local_devices);
}

Result<> read_ascend_operator(PlatformFacts& facts, const Snapshot& snapshot) {
  const FrameworkNames& names = *find_framework(snapshot);
  TRY(read_ascend_nodes(facts, names, snapshot));
  TRY(read_into(facts.node_rank, snapshot, names.rank, read_node_rank));
  facts.secret_file = snapshot.volcano_ssh_key;
  if (auto error = find_lone_scheduler(facts, snapshot)) {
    return std::move(*error);
  }
  if (facts.nodes->value == 1) {
    return {};  // the meeting point may be empty, or another pod
  }
  TRY(read_into(facts.master_address, snapshot, names.address, read_address));
  return read_into(facts.master_port, snapshot, names.port, read_port);
}

}  // namespace

const Platform kAscendOperator = {.name = "ascend-operator",
                                  .sign_text = "MINDX_TASK_ID, or LOCAL_RANK as a list, with its counts of devices",
                                  .find_sign = find_ascend_operator_sign,
                                  .variables = {.job_id = "MINDX_TASK_ID"},
                                  .read = read_ascend_operator,
                                  .counts = {"MS_WORKER_NUM", "CM_WORKER_SIZE", "WORLD_SIZE"}};

}  // namespace muster
