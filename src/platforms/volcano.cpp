// Volcano: the env plugin gives VC_TASK_INDEX (VK_TASK_INDEX in old versions), an index *within
// the task*; the svc plugin gives VC_<TASK>_HOSTS, VC_<TASK>_NUM and /etc/volcano/<task>.host, the files
// alone where the lists would be too long for variables; the pytorch plugin adds RANK, WORLD_SIZE (both count
// the pods of its master and workers, whatever other tasks there are), MASTER_ADDR and MASTER_PORT; the mpi
// plugin gives MPI_HOST, the workers on which only sshd runs, to the master alone.
// Source: volcano-sh/volcano, pkg/controllers/job/plugins.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/platform.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace muster {
namespace {

/// One task of the job: its pods are nodes.
struct Task {
  std::string name;  ///< upper case, as in VC_<TASK>_HOSTS
  Sourced<int> count;
  HostList hosts;  ///< empty when only the number is known
};

using Tasks = std::vector<Task>;

/// True for tasks that contain the leader, which come first; the pytorch plugin counts its master before its workers.
bool is_leading(const std::string& task) {
  static constexpr std::array<std::string_view, 4> kLeading = {"MASTER", "CHIEF", "LEADER", "LAUNCHER"};
  return contains(kLeading, task);
}

/// The task's part of "VC_<TASK>_HOSTS"; empty for other names.
std::string task_of(const std::string& variable, std::string_view ending) {
  constexpr std::string_view kStart = "VC_";
  const bool matches =
      variable.starts_with(kStart) && variable.ends_with(ending) && variable.size() > kStart.size() + ending.size();
  return matches ? variable.substr(kStart.size(), variable.size() - kStart.size() - ending.size()) : std::string();
}

/// Adds hosts to a task; fails where two lists of one task differ.
Result<> add_hosts(std::map<std::string, Task>& tasks, const std::string& name, const HostList& hosts) {
  Task& task = tasks[name];
  if (task.hosts.value.empty()) {
    task = {name, {static_cast<int>(hosts.value.size()), hosts.source}, hosts};
    return {};
  }
  return check_same_hosts(task.hosts, hosts);
}

Result<> read_host_variables(std::map<std::string, Task>& tasks, const Snapshot& snapshot) {
  for (const auto& [variable, value] : snapshot.variables) {
    const std::string name = task_of(variable, "_HOSTS");
    if (name.empty()) {
      continue;
    }
    const auto hosts = TRY(read_host_list({value, from_variable(variable)}));
    TRY(add_hosts(tasks, name, hosts));
  }
  return {};
}

Result<> read_host_files(std::map<std::string, Task>& tasks, const Snapshot& snapshot) {
  for (const std::string& file : volcano_tasks(snapshot)) {
    const auto hosts = TRY(read_host_file(snapshot, file));
    TRY(add_hosts(tasks, variable_spelling(file), *hosts));
  }
  return {};
}

Result<> read_numbers(std::map<std::string, Task>& tasks, const Snapshot& snapshot) {
  for (const auto& [variable, value] : snapshot.variables) {
    const std::string name = task_of(variable, "_NUM");
    if (name.empty()) {
      continue;
    }
    const auto number = TRY(read_node_count({value, from_variable(variable)}));
    Task& task = tasks[name];
    if (task.hosts.value.empty()) {
      task = {name, number, {}};
    } else if (task.count.value != number.value) {
      return contradiction(Sourced<std::string>{value, from_variable(variable)},
                           Sourced<std::string>{join(task.hosts.value, ","), task.hosts.source},
                           "one is the number of hosts that the other lists");
    } else {
      task.count.source = from_variable(variable);
    }
  }
  return {};
}

Result<Tasks> read_tasks(const Snapshot& snapshot) {
  std::map<std::string, Task> by_name;
  TRY(read_host_variables(by_name, snapshot));
  TRY(read_host_files(by_name, snapshot));
  TRY(read_numbers(by_name, snapshot));
  Tasks tasks = mapped(by_name, [](const auto& one) { return one.second; });
  std::ranges::stable_sort(tasks, [](const Task& left, const Task& right) {
    const bool is_left_leading = is_leading(left.name);
    return is_left_leading != is_leading(right.name) ? is_left_leading : is_before(left.name, right.name);
  });
  return tasks;
}

/// Finds this pod's task: the only one, or the one that lists this host at this index.
const Task* find_own_task(const Tasks& tasks, int index, const std::string& host_name) {
  if (tasks.size() == 1) {
    return &tasks.front();
  }
  for (const Task& task : tasks) {
    const auto at = static_cast<std::size_t>(index);
    if (at < task.hosts.value.size() && is_same_name(task.hosts.value[at], host_name)) {
      return &task;
    }
  }
  return nullptr;
}

/// Finds the index without the env plugin: the place of this host in a list.
std::optional<Sourced<int>> find_own_index(const Tasks& tasks, const std::string& host_name) {
  for (const Task& task : tasks) {
    const auto& hosts = task.hosts.value;
    const auto own =
        std::ranges::find_if(hosts, [&](const std::string& entry) { return is_same_name(entry, host_name); });
    if (own != hosts.end()) {
      return Sourced<int>{static_cast<int>(own - hosts.begin()), part_of(task.hosts.source, ", by the host name")};
    }
  }
  return std::nullopt;
}

/// True where only the pytorch plugin's tasks, recognised by its task names, are nodes: it counts fewer pods than
/// there are.
bool are_counted_by_plugin(const Tasks& tasks, const std::optional<Sourced<int>>& counted) {
  int all = 0;
  int of_plugin = 0;
  for (const Task& task : tasks) {
    all += task.count.value;
    of_plugin += task.name == "MASTER" || task.name == "WORKER" ? task.count.value : 0;
  }
  return counted && all > counted->value && of_plugin == counted->value;
}

Error no_node(const Sourced<int>& counted) {
  return Error{ErrorKind::BadEnvironment,
               counted.source.name + " is '" + std::to_string(counted.value) +
                   "', the pods of the tasks master and worker, and this pod is of another task, so it is no node of "
                   "their job; say --platform single to start the program of this pod on one node"};
}

Error unknown_task(const Tasks& tasks, const std::optional<Sourced<int>>& index, const Snapshot& snapshot) {
  if (!index) {
    return Error{ErrorKind::BadEnvironment, "no task's host list has this host ('" + snapshot.host_name +
                                                "'), and VC_TASK_INDEX is not set; give --node-rank"};
  }
  return Error{ErrorKind::BadEnvironment, index->source.name + " is '" + std::to_string(index->value) +
                                              "', but no task's host list has this host ('" + snapshot.host_name +
                                              "') at that place, so which of the " + std::to_string(tasks.size()) +
                                              " tasks this pod belongs to is unknown; give --node-rank"};
}

/// Computes the rank: the index counts within the task, and nodes of earlier tasks come before.
Result<Sourced<int>> rank_from_index(const Tasks& tasks, const Task* own, const Sourced<int>& index) {
  if (index.value >= own->count.value) {
    return contradiction(index, own->count, "an index must be below its count");
  }
  int rank = index.value;
  for (const Task* task = tasks.data(); task != own; ++task) {
    rank += task->count.value;
  }
  return Sourced<int>{rank, index.source};
}

/// Checks the plugin's RANK against the rank by the lists. Where the lists have tasks that the plugin does not count,
/// only the plugin's RANK is used.
Result<> read_rank(PlatformFacts& facts, const Tasks& tasks, const Snapshot& snapshot) {
  if (facts.no_nodes) {
    facts.no_rank = facts.no_nodes;
    return read_into(facts.node_rank, snapshot, "RANK", read_node_rank);
  }
  const auto read_index = TRY(read_task_index(snapshot, {"VC_TASK_INDEX", "VK_TASK_INDEX"}));
  const auto index = read_index ? read_index : find_own_index(tasks, snapshot.host_name);
  const auto given = TRY(read_variable(snapshot, "RANK", read_node_rank));
  const Task* const own = index ? find_own_task(tasks, index->value, snapshot.host_name) : nullptr;
  if (own == nullptr) {
    if (!given && !tasks.empty()) {
      facts.no_rank = unknown_task(tasks, index, snapshot);
      return {};
    }
    facts.node_rank = given ? given : index;
    return {};
  }
  const auto listed = TRY(rank_from_index(tasks, own, *index));
  if (given && listed.value != given->value) {
    return contradiction(
        *given, *index,
        "an index within the task " + own->name + ", which makes " + "this node " + std::to_string(listed.value));
  }
  facts.node_rank = listed;
  return {};
}

/// Error for the master of an MPI job: muster cannot know how programs are started on its workers.
Error has_no_starter(const Sourced<std::string>& hosts) {
  return Error{ErrorKind::BadEnvironment, hosts.source.name + " is '" + shortened(hosts.value) +
                                              "', and on the workers of an MPI job runs only sshd; 'muster --hosts "
                                              "$MPI_HOST' starts it on all of them; or leave the mpi plugin out"};
}

/// Counts the nodes of all tasks; the source names each of the counts.
Result<Sourced<int>> count_nodes(const Tasks& tasks) {
  Sourced<int> total{0, from_variable("")};
  for (const Task& task : tasks) {
    total.value += task.count.value;
    total.source.name += (total.source.name.empty() ? "" : "+") + task.count.source.name;
    if (total.value > kMostNodes) {
      return wrong_value(as_text(total), "at most " + std::to_string(kMostNodes) + " nodes");
    }
  }
  return total;
}

/// "VC_HEAD_NUM+VC_NODE_NUM is '8' = head 1 + node 7": some of these tasks run no nodes of the plugin's job.
Error counted_differently(const Sourced<int>& counted, const Sourced<int>& total, const Tasks& tasks) {
  const auto parts =
      mapped(tasks, [](const Task& task) { return lower_case(task.name) + " " + std::to_string(task.count.value); });
  return contradiction(
      counted, total,
      "which is " + join(parts, " + ") + "; give --nnodes and --node-rank on those that are nodes of one job");
}

Result<> read_count(PlatformFacts& facts, Tasks& tasks, const Snapshot& snapshot) {
  TRY(read_into(facts.nodes, snapshot, "WORLD_SIZE", read_node_count));
  if (tasks.empty()) {
    return {};
  }
  if (are_counted_by_plugin(tasks, facts.nodes)) {
    std::erase_if(tasks, [](const Task& task) { return task.name != "MASTER" && task.name != "WORKER"; });
    if (!snapshot.has("RANK")) {
      return no_node(*facts.nodes);
    }
  }
  const auto total = TRY(count_nodes(tasks));
  if (facts.nodes && facts.nodes->value < total.value && tasks.size() > 1) {
    facts.no_nodes = counted_differently(*facts.nodes, total, tasks);
    facts.nodes.reset();
    return {};
  }
  if (facts.nodes && facts.nodes->value != total.value) {
    return contradiction(*facts.nodes, total, "both give the number of nodes");
  }
  facts.nodes = total;
  std::vector<std::string> hosts;
  for (const Task& task : tasks) {
    hosts.insert(hosts.end(), task.hosts.value.begin(), task.hosts.value.end());
  }
  if (hosts.size() == static_cast<std::size_t>(total.value)) {
    facts.hosts = {hosts, tasks.front().hosts.source};
  }
  return {};
}

std::optional<std::string> find_volcano_sign(const Snapshot& snapshot) {
  if (auto index = first_set(snapshot, {"VC_TASK_INDEX", "VK_TASK_INDEX"})) {
    return index;
  }
  for (const auto& [name, value] : snapshot.variables) {
    if (!task_of(name, "_HOSTS").empty()) {
      return name;
    }
  }
  const auto tasks = volcano_tasks(snapshot);
  return tasks.empty() ? std::nullopt : std::optional(kVolcanoFolder + ("/" + tasks.front()) + kHostFileEnding);
}

Result<> read_volcano(PlatformFacts& facts, const Snapshot& snapshot) {
  facts.secret_file = snapshot.volcano_ssh_key;
  if (const auto hosts = sourced_variable(snapshot, "MPI_HOST")) {
    facts.no_nodes = has_no_starter(*hosts);
    return {};
  }
  auto tasks = TRY(read_tasks(snapshot));
  TRY(read_count(facts, tasks, snapshot));
  TRY(read_rank(facts, tasks, snapshot));
  if (!facts.master_address && facts.hosts) {
    facts.master_address = {facts.hosts->value.front(), facts.hosts->source};
  }
  return {};
}

}  // namespace

const Platform kVolcano = {.name = "volcano",
                           .sign_text = "VC_TASK_INDEX, VK_TASK_INDEX or VC_<TASK>_HOSTS",
                           .find_sign = find_volcano_sign,
                           .variables = {.address = {"MASTER_ADDR"}, .port = "MASTER_PORT"},
                           .read = read_volcano,
                           .counts = {"VC_*_NUM", "VC_*_HOSTS", "/etc/volcano/*.host", "MPI_HOST", "WORLD_SIZE"}};

}  // namespace muster
