// IBM Spectrum LSF. The job's script runs on the first host alone; blaunch starts tasks on all of them and
// numbers these from 1 in LSF_PM_TASKID. Under jsrun (JSM) each task is a process that has been placed, and the
// first host of the list is a launch node that runs none of them. Neither RANK nor WORLD_SIZE is set.
// Source: ibm.com/docs, Spectrum LSF, "Environment variables set for job execution", "blaunch" and "Using IBM
// Job Step Manager"; lightning/fabric/plugins/environments/lsf.py for JSM_NAMESPACE_*.
#include "platforms/batch_hosts.hpp"
#include "platforms/share.hpp"

#include "base/text.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 4> kCounts = {
    "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS", "LSB_HOSTS", "JSM_NAMESPACE_SIZE"};

constexpr TaskVariables kTasks = {"JSM_NAMESPACE_RANK",
                                  "JSM_NAMESPACE_SIZE",
                                  "JSM_NAMESPACE_LOCAL_RANK",
                                  "JSM_NAMESPACE_LOCAL_SIZE"};

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return snapshot.has("LSB_JOBID")
             ? first_set(snapshot,
                         {"JSM_NAMESPACE_SIZE", "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS", "LSB_HOSTS"})
             : std::nullopt;
}

/// The hosts with their slots, from the best that there is: LSB_HOSTS is not set where it would be long.
Result<std::optional<SlotList>> read_hosts(const Snapshot& snapshot) {
  const auto path = sourced_variable(snapshot, "LSB_DJOB_HOSTFILE");
  const auto file = snapshot.files.find(path ? path->value : "");
  const auto pairs = sourced_variable(snapshot, "LSB_MCPU_HOSTS");
  const auto names = sourced_variable(snapshot, "LSB_HOSTS");
  Result<SlotList> list = SlotList();
  if (path && file != snapshot.files.end()) {
    list = read_node_file({file->second, path->source});
  } else if (pairs) {
    list = read_host_pairs(*pairs);
  } else if (names) {
    list = read_hosts_with_slots(*names);
  } else {
    return std::optional<SlotList>();
  }
  return list ? Result<std::optional<SlotList>>(std::move(*list)) : list.error();
}

/// True where the tasks fill all hosts behind the launch node. Several jsrun share the hosts of a job, and which of them
/// are whose nothing says.
bool are_on_all(const PlatformFacts& facts, const SlotList& list) {
  const auto hosts = static_cast<long long>(list.value.size()) - 1;
  return facts.nodes->value == hosts * facts.share->local_size.value;
}

/// Under jsrun. Where the hosts are known, the tasks lead from the first one behind the launch node.
Result<> read_placed(PlatformFacts& facts,
                     const std::optional<SlotList>& list,
                     const Snapshot& snapshot) {
  if (auto read = read_tasks(facts, snapshot, kTasks); !read) {
    return read;
  }
  const bool is_known = list && list->value.size() > 1 && are_on_all(facts, *list);
  if (is_known && !snapshot.has("MASTER_ADDR") && !are_all_here(facts)) {
    return read_batch_leader(facts, {list->value[1].host, list->source}, snapshot);
  }
  return read_meeting_point(facts,
                            snapshot,
                            facts.job_id.value_or(Sourced<std::string>{}),
                            "name that host, by jsrun -E MASTER_ADDR=HOST or --master-addr");
}

/// By blaunch: the numbers of its tasks are those of the hosts where each has one slot.
Result<> read_task_host(BatchHosts& hosts, const Snapshot& snapshot) {
  std::optional<Sourced<int>> task;
  if (auto read = read_into(task, snapshot, "LSF_PM_TASKID", read_node_rank); !read || !task) {
    return read;
  }
  const auto own = position_of(hosts.list, snapshot);
  const int last = static_cast<int>(hosts.list.value.size());
  if (own) {
    hosts.started_on = {*own, part_of(task->source, " by the host's name")};
  } else if (task->value >= 1 && task->value <= last) {
    hosts.started_on = {task->value - 1, task->source};
  }
  return {};
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  facts.job_id = sourced_variable(snapshot, "LSB_JOBID");
  auto list = read_hosts(snapshot);
  if (!list) {
    return list.error();
  }
  if (snapshot.has("JSM_NAMESPACE_SIZE")) {
    auto read = read_placed(facts, *list, snapshot);
    return read ? Result<PlatformFacts>(std::move(facts)) : read.error();
  }
  if (!*list) {
    return facts;
  }
  BatchHosts hosts{
      std::move(**list), {}, "muster --hostfile $LSB_DJOB_HOSTFILE --remote-shell blaunch ..."};
  if (auto read = read_task_host(hosts, snapshot); !read) {
    return read.error();
  }
  if (auto applied = apply_batch_hosts(facts, hosts, snapshot); !applied) {
    return applied.error();
  }
  return facts;
}

}  // namespace

const Platform kLsf = {"lsf",
                       "LSB_MCPU_HOSTS, LSB_DJOB_HOSTFILE, LSB_HOSTS or JSM_NAMESPACE_SIZE with "
                       "LSB_JOBID",
                       find_sign,
                       read_platform,
                       kCounts};

}  // namespace muster
