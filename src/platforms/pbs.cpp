// PBS (OpenPBS, PBS Pro, Torque). PBS_NODEFILE lists the hosts, a line for each slot. The job's script runs on
// the first of them alone: there PBS_TASKNUM is 1. What pbsdsh or another program starts by PBS' task manager
// has PBS_NODENUM, the number of its host, and on the first host a PBS_TASKNUM above 1. Neither RANK nor
// WORLD_SIZE is set.
// Source: qsub(1B) and pbsdsh(1B) of Torque; PBS Professional Reference Guide, "Environment Variables".
#include "platforms/batch_hosts.hpp"

#include "base/text.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"PBS_NODEFILE", "PBS_NUM_NODES"};

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return snapshot.has("PBS_JOBID") ? first_set(snapshot, {"PBS_NODEFILE"}) : std::nullopt;
}

/// The number of this host, if PBS' task manager has started us.
Result<> read_task_host(BatchHosts& hosts, const Snapshot& snapshot) {
  std::optional<Sourced<int>> task;
  std::optional<Sourced<int>> node;
  if (auto read = read_into(task, snapshot, "PBS_TASKNUM", read_node_rank); !read) {
    return read;
  }
  if (auto read = read_into(node, snapshot, "PBS_NODENUM", read_node_rank); !read) {
    return read;
  }
  if (node && (node->value > 0 || (task && task->value > 1))) {
    hosts.started_on = node;
  }
  return {};
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  facts.job_id = sourced_variable(snapshot, "PBS_JOBID");
  const Sourced<std::string> path = *sourced_variable(snapshot, "PBS_NODEFILE");
  const auto file = snapshot.files.find(path.value);
  if (file == snapshot.files.end()) {
    facts.no_nodes = Error{ErrorKind::BadEnvironment,
                           "PBS_NODEFILE is '" + path.value +
                               "', which cannot be read on this host: start muster on all of "
                               "them by muster --hostfile $PBS_NODEFILE in the job's "
                               "script, or give --nnodes and --node-rank"};
    return facts;
  }
  auto list = read_node_file({file->second, path.source});
  if (!list) {
    return list.error();
  }
  BatchHosts hosts{std::move(*list), {}, "muster --hostfile $PBS_NODEFILE ..."};
  if (auto read = read_task_host(hosts, snapshot); !read) {
    return read.error();
  }
  if (auto applied = apply_batch_hosts(facts, hosts, snapshot); !applied) {
    return applied.error();
  }
  return facts;
}

}  // namespace

const Platform kPbs = {"pbs", "PBS_NODEFILE with PBS_JOBID", find_sign, read_platform, kCounts};

}  // namespace muster
