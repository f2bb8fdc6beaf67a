// Platform readers for Huawei's ModelArts, and for its old training jobs (API v1).
//
// ModelArts: instances of a job are nodes, MA_NUM_HOSTS counts them. It runs on Volcano, so that Volcano's index and
// host lists exist too. The bare RANK and WORLD_SIZE are not read, because no platform sets them here.
// Source: Huawei Cloud, ModelArts, "Preset images: how the boot file is started".
#include "base/endpoint.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "options/readers.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/platform.hpp"
#include "platforms/request.hpp"
#include "platforms/slots.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace muster {
namespace {

Result<Sourced<std::string>> read_letters(const Sourced<std::string>& text, std::size_t most) {
  const bool is_name = std::ranges::all_of(
      text.value, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_'; });
  if (text.value.empty() || text.value.size() > most || !is_name) {
    return wrong_value({shortened(text.value), text.source},
                       "a name of at most " + std::to_string(most) + " letters, digits and dashes");
  }
  return text;
}

/// Reads a value that becomes a label of host names, between two dots.
Result<Sourced<std::string>> read_label(const Sourced<std::string>& text) {
  return read_letters(text, 63);
}

Result<Sourced<std::string>> read_name(const Sourced<std::string>& text) {
  return read_letters(text, 253);
}

/// "modelarts-job-4711-worker-3" is the instance with index 3.
Result<Sourced<int>> read_instance_index(const Sourced<std::string>& text) {
  const std::size_t dash = text.value.rfind('-');
  const auto index =
      dash == std::string::npos ? std::nullopt : parse_integer(text.value.substr(dash + 1), 0, kMostNodes - 1);
  if (!read_name(text) || !index) {
    return wrong_value(text, "a name that ends with an index, such as job-worker-0");
  }
  return Sourced<int>{*index, text.source};
}

Result<> read_rank(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto index = TRY(read_task_index(snapshot, {"MA_TASK_INDEX", "VC_TASK_INDEX", "VK_TASK_INDEX"}));
  const auto named = TRY(read_variable(snapshot, "MA_CURRENT_INSTANCE_NAME", read_instance_index));
  if (index && named && index->value != named->value) {
    return contradiction(as_text(*index), *sourced_variable(snapshot, named->source.name),
                         "a name ends with the index of its instance");
  }
  facts.node_rank = index ? index : named;
  return {};
}

/// Reads Volcano's lists of this task's hosts, by variable and by file.
Result<std::optional<HostList>> read_listed_hosts(const Snapshot& snapshot, const std::string& task) {
  const auto text = sourced_variable(snapshot, "VC_" + variable_spelling(task) + "_HOSTS");
  std::string file_name = task;
  std::ranges::replace(file_name, '-', '_');
  auto in_file = read_host_file(snapshot, file_name);
  if (!text || !in_file) {
    return in_file;
  }
  const auto hosts = TRY(read_host_list(*text));
  if (*in_file) {
    TRY(check_same_hosts(hosts, **in_file));
  }
  return std::optional(hosts);
}

/// Makes host names by the pattern of unlisted hosts: <job>-<task>-<index>.<job>.
HostList make_host_names(const Sourced<std::string>& job, const std::string& task, int count) {
  HostList hosts{{}, job.source};
  for (int i = 0; i < count; ++i) {
    hosts.value.push_back(job.value + "-" + task + "-" + std::to_string(i) + "." + job.value);
  }
  return hosts;
}

/// Compares the numbers of nodes with the list: the job's number, and those of this task. In a job of several tasks,
/// the lists of all tasks decide.
std::optional<Error> find_contradiction(const std::optional<Sourced<int>>& given,
                                        const std::optional<Sourced<int>>& of_task,
                                        const std::optional<HostList>& hosts) {
  if (given && of_task && given->value != of_task->value) {
    return contradiction(*given, *of_task, "both give the number of nodes");
  }
  const auto& count = given ? given : of_task;
  if (hosts && count && count->value != static_cast<int>(hosts->value.size())) {
    return contradiction(as_text(*count), {shortened(join(hosts->value, ",")), hosts->source},
                         "one is the number of hosts that the other lists");
  }
  return std::nullopt;
}

Sourced<int> count_nodes(const std::optional<Sourced<int>>& given, const std::optional<Sourced<int>>& of_task,
                         const std::optional<HostList>& hosts) {
  if (given || of_task) {
    return given ? *given : *of_task;
  }
  return hosts ? Sourced<int>{static_cast<int>(hosts->value.size()), hosts->source}
               : Sourced<int>{1, default_of("modelarts")};
}

/// Names of the job and of this process's task.
struct TaskNames {
  std::optional<Sourced<std::string>> job;
  std::optional<Sourced<std::string>> task;
};

Result<TaskNames> read_names(const Snapshot& snapshot) {
  return TaskNames{TRY(read_variable(snapshot, "MA_VJ_NAME", read_label)),
                   TRY(read_variable(snapshot, "MA_TASK_NAME", read_label))};
}

Result<> read_task_nodes(PlatformFacts& facts, const TaskNames& names, const Snapshot& snapshot) {
  const std::string task = names.task ? names.task->value : "worker";
  const auto given = TRY(read_variable(snapshot, "MA_NUM_HOSTS", read_node_count));
  const std::string number = "VC_" + variable_spelling(task) + "_NUM";
  const auto of_task = TRY(read_variable(snapshot, number, read_node_count));
  const auto hosts = TRY(read_listed_hosts(snapshot, task));
  facts.torn_nodes = find_contradiction(given, of_task, hosts);
  facts.nodes = count_nodes(given, of_task, hosts);
  if (hosts) {
    facts.hosts = *hosts;
  } else if (names.job && facts.nodes->value > 1) {
    facts.hosts = make_host_names(*names.job, task, facts.nodes->value);
  }
  return {};
}

/// Reads the run method's meeting point and number of workers. Where the method has a default port, a single node
/// meets at a local port, as with torchrun's --standalone.
Result<> read_method(PlatformFacts& facts, const Snapshot& snapshot) {
  const RunMethod* const method = find_run_method(snapshot);
  if (method == nullptr) {
    return {};
  }
  const auto port = TRY(read_variable(snapshot, method->master_port, read_port));
  if (method->usual_port == 0) {
    facts.master_port = port;
  } else if (facts.nodes->value > 1) {
    facts.master_port = port.value_or(Sourced<int>{method->usual_port, default_of("modelarts")});
  }
  if (method->master_address != nullptr) {
    TRY(read_into(facts.master_address, snapshot, method->master_address, read_address));
  }
  facts.mode_of_workers = method->mode;
  return method->workers == nullptr ? Result<>()
                                    : read_into(facts.workers, snapshot, method->workers,
                                                read_sourced_number<1, kMostWorkers, "a number of workers">);
}

/// Makes the first host the leader. The leader's address must not be known as another node's.
Result<> check_leader(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto own = TRY(read_variable(snapshot, "MA_CURRENT_IP", read_address));
  const auto machine = TRY(read_variable(snapshot, "MA_CURRENT_HOST_IP", read_address));
  const auto& hosts = facts.hosts;
  if (!facts.master_address) {
    if (hosts && facts.nodes->value > 1) {
      facts.master_address = {hosts->value.front(), hosts->source};
    }
    return {};
  }
  const auto& leader = *facts.master_address;
  const bool is_follower = facts.node_rank && facts.node_rank->value > 0;
  if (is_follower && own && own->value == leader.value) {
    return contradiction(leader, *own, "this instance is not the first one, which leads");
  }
  const bool is_listed = hosts && contains(hosts->value, leader.value);
  if (is_listed && leader.value != hosts->value.front()) {
    return contradiction(leader, {hosts->value.front(), from_variable("the first of " + hosts->source.name)},
                         "the first instance leads");
  }
  return {};
}

Result<> read_job(PlatformFacts& facts, const TaskNames& names, const Snapshot& snapshot) {
  TRY(read_into(facts.job_id, snapshot, "MA_JOB_ID", read_name));
  if (!facts.job_id) {
    facts.job_id = names.job;
  }
  return {};
}

/// Variables of engines that start the program once for each device: by mpirun, and by a rank table.
constexpr std::array<TaskVariables, 2> kEngineTasks = {{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"RANK_ID", "RANK_SIZE", "ASCEND_DEVICE_ID", "MA_NUM_GPUS"},
}};

const TaskVariables* find_tasks(const Snapshot& snapshot) {
  return first_of(kEngineTasks, [&](const TaskVariables& names) {
    const auto size = parse_integer(snapshot.variable(names.size).value_or(""), 2, kMostNodes);
    return size && snapshot.has(names.rank) && snapshot.has(names.local_rank);
  });
}

/// Makes each process a node, with rank 0 on the first instance. mpirun passes that instance's names to all
/// processes, so nothing else is read.
Result<> read_engine_tasks(PlatformFacts& facts, const TaskVariables& names, const Snapshot& snapshot) {
  const auto hosts = std::exchange(facts.hosts, std::nullopt);
  const bool is_only_one = facts.nodes->value == 1;
  TRY(read_tasks(facts, snapshot, names));
  facts.master_address = is_only_one || !hosts ? Sourced<std::string>{"127.0.0.1", default_of("modelarts")}
                                               : Sourced<std::string>{hosts->value.front(), hosts->source};
  return {};
}

/// Reads two counters, both from 1: how often the instance was scheduled, and how often the program was started in
/// this container.
Result<> read_restart_count(PlatformFacts& facts, const Snapshot& snapshot) {
  Sourced<int> restarts{0, from_variable("")};
  for (const char* const name : {"MA_SCHEDULE_CNT", "MA_PROC_START_CNT"}) {
    const auto starts = TRY(read_variable(snapshot, name, read_sourced_number<1, 1'000'000, "a number of starts">));
    if (starts) {
      restarts.value += starts->value - 1;
      restarts.source.name += (restarts.source.name.empty() ? "" : "+") + starts->source.name;
    }
  }
  if (!restarts.source.name.empty()) {
    facts.restart_count = restarts;
  }
  return {};
}

/// Makes this instance a node, on which muster is started once.
Result<> read_instance(PlatformFacts& facts, const Snapshot& snapshot) {
  TRY(read_rank(facts, snapshot));
  TRY(read_devices(facts, snapshot, "MA_NUM_GPUS"));
  TRY(read_method(facts, snapshot));
  return check_leader(facts, snapshot);
}

Result<> read_modelarts(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto names = TRY(read_names(snapshot));
  TRY(read_task_nodes(facts, names, snapshot));
  const TaskVariables* const tasks = find_tasks(snapshot);
  TRY(tasks != nullptr ? read_engine_tasks(facts, *tasks, snapshot) : read_instance(facts, snapshot));
  TRY(read_job(facts, names, snapshot));
  facts.secret_file = snapshot.volcano_ssh_key;
  return read_restart_count(facts, snapshot);
}

}  // namespace

const Platform kModelarts = {.name = "modelarts",
                             .signs = {.any = {"MA_NUM_HOSTS", "MA_VJ_NAME"}},
                             .read = read_modelarts,
                             .counts = {"MA_NUM_HOSTS"}};

// ModelArts' old training jobs (API v1), and platforms modelled on them: each container is a node.
// DLS_TASK_NUMBER counts them, BATCH_CUSTOM<i>_HOSTS is the address of container i, as host:port.
// Source: Huawei Cloud, ModelArts, "Introduction to Custom Images", environment variables of containers.

namespace {

std::string endpoint_variable(std::size_t index) {
  return "BATCH_CUSTOM" + std::to_string(index) + "_HOSTS";
}

/// Reads the list of all containers, which each container has.
Result<> read_hosts(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto nodes = static_cast<std::size_t>(facts.nodes->value);
  HostList hosts{{}, from_variable("BATCH_CUSTOM*_HOSTS")};
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto text = sourced_variable(snapshot, endpoint_variable(i));
    if (!text) {
      return {};
    }
    hosts.value.push_back(split_endpoint(text->value).host);
    TRY(read_address({hosts.value.back(), text->source}));
  }
  if (const auto more = sourced_variable(snapshot, endpoint_variable(nodes))) {
    return contradiction({std::to_string(nodes), facts.nodes->source}, *more,
                         "one is the number of hosts that the others name");
  }
  facts.hosts = hosts;
  return {};
}

Result<> read_modelarts_v1(PlatformFacts& facts, const Snapshot& snapshot) {
  if (facts.nodes->value > 1) {
    TRY(read_meeting_point(facts, snapshot, endpoint_variable(0)));
    TRY(read_hosts(facts, snapshot));
  }
  return {};
}

}  // namespace

const Platform kModelartsV1 = {
    .name = "modelarts-v1",
    .signs = {.any = {"DLS_TASK_NUMBER"}},
    .variables = {.nodes = {"DLS_TASK_NUMBER"}, .node_rank = {"DLS_TASK_INDEX"}, .job_id = "BATCH_JOB_ID"},
    .read = read_modelarts_v1,
    .counts = {"DLS_TASK_NUMBER"}};

}  // namespace muster
