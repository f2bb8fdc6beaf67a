// The Ascend operator (MindCluster): each pod is a node. The totals count devices (WORLD_SIZE,
// MS_WORKER_NUM, CM_WORKER_SIZE), the ranks count pods (RANK, MS_NODE_RANK, CM_RANK), and LOCAL_RANK is a
// list such as 0,1,2,3. Which names there are goes by the framework of the job.
// Source: Ascend/mind-cluster, ascend-operator/pkg/controllers/v1/env.go, and its "Environment Variables".
#include "platforms/platform.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 3> kCounts = {"MS_WORKER_NUM", "CM_WORKER_SIZE", "WORLD_SIZE"};

/// What a framework calls the fields.
struct Names {
  const char* rank;
  const char* devices;
  const char* local_devices;
  const char* address;
  const char* port;
};

constexpr std::array<Names, 3> kFrameworks = {{
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"},
    {"MS_NODE_RANK", "MS_WORKER_NUM", "MS_LOCAL_WORKER", "MS_SCHED_HOST", "MS_SCHED_PORT"},
    {"CM_RANK", "CM_WORKER_SIZE", "CM_LOCAL_WORKER", "CM_CHIEF_IP", "CM_CHIEF_PORT"},
}};

/// The operator of old has no MINDX_TASK_ID; then its lists of devices are the sign.
bool is_list(const std::optional<std::string>& devices) {
  return devices && devices->find_first_of(",{") != std::string::npos;
}

const Names* find_names(const Snapshot& snapshot) {
  const auto found =
      std::find_if(kFrameworks.begin(), kFrameworks.end(), [&](const Names& framework) {
        return snapshot.has(framework.rank) && snapshot.has(framework.devices) &&
               snapshot.has(framework.local_devices);
      });
  const bool is_pytorch = found == kFrameworks.begin();
  if (found == kFrameworks.end() ||
      (is_pytorch && !snapshot.has("MINDX_TASK_ID") && !is_list(snapshot.variable("LOCAL_RANK")))) {
    return nullptr;
  }
  return &*found;
}

Result<Sourced<int>> read_devices(const Sourced<std::string>& text) {
  const auto devices = parse_integer(text.value, 1, kMostWorkers);
  if (!devices) {
    return wrong_value(text, "a number of devices of at least 1");
  }
  return Sourced<int>{*devices, text.source};
}

Result<> read_nodes(PlatformFacts& facts, const Names& names, const Snapshot& snapshot) {
  std::optional<Sourced<int>> all;
  std::optional<Sourced<int>> local;
  if (auto read = read_into(all, snapshot, names.devices, read_devices); !read) {
    return read;
  }
  if (auto read = read_into(local, snapshot, names.local_devices, read_devices); !read) {
    return read;
  }
  if (all->value % local->value != 0) {
    return contradiction(*all, *local, "all devices must be a multiple of those of one node");
  }
  facts.nodes = {all->value / local->value, part_of(all->source, " / " + local->source.name)};
  facts.slots = {std::to_string(local->value), local->source};
  return {};
}

/// A scheduler without devices is in a pod that is no node, and its address leads there.
std::optional<Error> find_lone_scheduler(const PlatformFacts& facts, const Snapshot& snapshot) {
  const auto role = sourced_variable(snapshot, "MS_ROLE");
  const bool has_no_devices = snapshot.variable("NPU_POD") == "false";
  const bool is_first_worker = role && role->value == "MS_WORKER" && facts.node_rank->value == 0;
  if (!role || !(has_no_devices || (is_first_worker && facts.nodes->value > 1))) {
    return std::nullopt;
  }
  return Error{
      blame(role->source),
      role->source.name + " is '" + role->value +
          "', and the scheduler has a pod of its own that has no devices; request devices "
          "for it, which makes it the first of the nodes: muster starts the scheduler there"};
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const Names* const names = find_names(snapshot);
  if (names == nullptr) {
    return std::nullopt;
  }
  return first_set(snapshot, {"MINDX_TASK_ID"}).value_or(names->local_devices);
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  const Names& names = *find_names(snapshot);
  PlatformFacts facts;
  if (auto read = read_nodes(facts, names, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, names.rank, read_node_rank); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "MINDX_TASK_ID");
  facts.secret_file = snapshot.volcano_ssh_key;
  if (auto error = find_lone_scheduler(facts, snapshot)) {
    return std::move(*error);
  }
  if (facts.nodes->value == 1) {
    return facts;  // where it would meet may be empty, or another pod
  }
  if (auto read = read_into(facts.master_address, snapshot, names.address, read_address); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_port, snapshot, names.port, read_port); !read) {
    return read.error();
  }
  return facts;
}

}  // namespace

const Platform kAscendOperator = {
    "ascend-operator",
    "MINDX_TASK_ID, or LOCAL_RANK as a list, with its counts of devices",
    find_sign,
    read_platform,
    kCounts};

}  // namespace muster
