// Kubeflow's jobs of JAX: each pod is a node and runs one process, which sees all devices of the pod.
// NUM_PROCESSES and PROCESS_ID therefore count nodes. JAXJob sets four names that anybody may use, which
// count only together; the JAX runtimes of Trainer v2 set the same with JAX_ in front. The processes of
// a job in muster's own mode jax have no JAX_COORDINATOR_PORT.
// Source: kubeflow/training-operator, pkg/controller.v1/jax/envvar.go; kubeflow/trainer, the plugin jax.
#include "platforms/hosts.hpp"
#include "platforms/platform.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"NUM_PROCESSES", "JAX_NUM_PROCESSES"};

/// One of the two sets of names.
struct Names {
  const char* address;
  const char* port;
  const char* count;
  const char* rank;
};

constexpr Names kOfTrainer = {
    "JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_PORT", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"};
constexpr Names kOfJob = {"COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID"};

bool are_set(const Snapshot& snapshot, const Names& names) {
  const auto all = {names.address, names.port, names.count, names.rank};
  return std::all_of(
      all.begin(), all.end(), [&](const char* const name) { return snapshot.has(name); });
}

const Names* find_names(const Snapshot& snapshot) {
  return are_set(snapshot, kOfTrainer) ? &kOfTrainer
         : are_set(snapshot, kOfJob)   ? &kOfJob
                                       : nullptr;
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const Names* const names = find_names(snapshot);
  return names == nullptr ? std::nullopt : std::optional<std::string>(names->count);
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  const Names& names = *find_names(snapshot);
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, names.count, read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, names.rank, read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_port, snapshot, names.port, read_port); !read) {
    return read.error();
  }
  if (auto read = read_meeting_point(facts, snapshot, names.address); !read) {
    return read.error();
  }
  facts.slots = {"1", facts.nodes->source};
  return facts;
}

}  // namespace

const Platform kJaxjob = {"jaxjob",
                          "NUM_PROCESSES, PROCESS_ID and COORDINATOR_*, or these with JAX_",
                          find_sign,
                          read_platform,
                          kCounts};

}  // namespace muster
