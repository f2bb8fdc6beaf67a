// Platform readers for Kubeflow's jobs and for task lists: PyTorchJob, PET_*, TFJob, PaddleJob, MPIJob and JAXJob.
//
// PET_*: torchrun's own options as variables, which Kubeflow's Trainer v2 and PyTorchJob set.
// RANK and WORLD_SIZE, which PyTorchJob may set beside them, are not read: their unit depends on its version.
#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/task_config.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr PlatformVariables kPetVariables = {.node_range = "PET_NNODES",
                                             .node_rank = {"PET_NODE_RANK"},
                                             .address = {"PET_MASTER_ADDR"},
                                             .port = "PET_MASTER_PORT",
                                             .meeting_point = "PET_RDZV_ENDPOINT",
                                             .slots = "PET_NPROC_PER_NODE",
                                             .job_id = "PET_RDZV_ID"};

}  // namespace

const Platform kPet = {
    .name = "pet", .signs = {.any = {"PET_NNODES"}}, .variables = kPetVariables, .may_lack_rank = true};

// Kubeflow's PyTorchJob from 1.7 on: each replica is a node. PET_* are complete, and RANK is PET_NODE_RANK, but
// WORLD_SIZE is the number of replicas times nprocPerNode, where "auto" counts 1: processes or nodes. Up to 1.6 there
// were only the bare names, which counted nodes: the platform `bare`.
// Source: kubeflow/training-operator, pkg/controller.v1/pytorch/envvar.go.
namespace {

/// Checks WORLD_SIZE. An elastic job's count leaves out its master, which then is one node too many.
Result<> check_world_size(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto size = *sourced_variable(snapshot, "WORLD_SIZE");
  const int all = TRY(read_integer(size, 1, kMostWorkers, "a number of processes of at least 1"));
  const auto per_node =
      parse_integer(snapshot.variable("PET_NPROC_PER_NODE").value_or(""), 1, kMostWorkers).value_or(1);
  const int least = facts.least_nodes.value_or(facts.nodes->value);
  const int nodes = all / per_node;
  if (all % per_node == 0 && least <= nodes && nodes <= facts.nodes->value) {
    return {};
  }
  return contradiction(size, *sourced_variable(snapshot, "PET_NNODES"),
                       "the first must be the other times " + std::to_string(per_node) + " (PET_NPROC_PER_NODE)");
}

/// Adds the bare names that must agree.
constexpr PlatformVariables with_bare_names(PlatformVariables variables) {
  variables.node_rank[1] = "RANK";
  variables.address[1] = "MASTER_ADDR";
  return variables;
}

}  // namespace

const Platform kPytorchjob = {
    .name = "pytorchjob",
    .sign_text = "PET_NNODES with the bare names",
    .signs = {.any = {"PET_NNODES"}, .with = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}},
    .variables = with_bare_names(kPetVariables),
    .read = check_world_size,
    .counts = {"PET_NNODES", "WORLD_SIZE"},
    .may_lack_rank = true};

// TensorFlow's lists of tasks: TF_CONFIG, as Kubeflow's TFJob and Volcano's tensorflow plugin set it,
// and TF_PS_HOSTS with TF_WORKER_HOSTS, as ModelArts does. They may accompany the variables of
// any platform; without others they are a separate platform.

namespace {

/// A variable with the addresses of a role.
struct ListVariable {
  const char* name;
  const char* role;
};

constexpr std::array<ListVariable, 2> kListVariables = {{{"TF_WORKER_HOSTS", "worker"}, {"TF_PS_HOSTS", "ps"}}};

Error nothing_says(const Source& known, const std::string& what, const char* variable) {
  return Error{ErrorKind::BadEnvironment,
               known.name + " lists tasks, but nothing says " + what + ": " + variable + " is not set"};
}

/// Reads MA_TASK_NAME and the index within that task.
Result<> read_own_task(TaskLists& tasks, const Snapshot& snapshot) {
  const auto name = sourced_variable(snapshot, "MA_TASK_NAME");
  if (!name) {
    return nothing_says(tasks.source, "which role this task has", "MA_TASK_NAME");
  }
  const auto index = TRY(read_task_index(snapshot, {"MA_TASK_INDEX", "VC_TASK_INDEX", "VK_TASK_INDEX"}));
  if (!index) {
    return nothing_says(tasks.source, "which index this task has", "VC_TASK_INDEX");
  }
  const RoleEndpoints* const list = find_role(tasks.roles, name->value);
  if (list == nullptr) {
    return contradiction(*name, {to_text(sizes_of(tasks)), tasks.source}, "no list has tasks of this role");
  }
  const auto count = static_cast<int>(list->endpoints.size());
  if (index->value >= count) {
    return contradiction(*index, Sourced<int>{count, from_variable("the number of " + name->value + " tasks")},
                         "an index must be below its count");
  }
  tasks.role = name->value;
  tasks.index = index->value;
  tasks.own_source = part_of(name->source, "+" + index->source.name);
  return {};
}

Result<std::optional<TaskLists>> read_list_variables(const Snapshot& snapshot, const Roles& roles) {
  TaskLists tasks;
  std::vector<std::string> names;
  for (const std::string& role : roles) {
    const auto list = std::ranges::find_if(
        kListVariables, [&](const ListVariable& known) { return known.role == role && snapshot.has(known.name); });
    if (list == kListVariables.end()) {
      continue;
    }
    auto endpoints = TRY(read_endpoints(*sourced_variable(snapshot, list->name)));
    tasks.roles.push_back({role, std::move(endpoints)});
    names.emplace_back(list->name);
  }
  if (tasks.roles.empty()) {
    return std::optional<TaskLists>();
  }
  tasks.source = from_variable(join(names, "+"));
  TRY(check_endpoints_differ(tasks.roles, tasks.source));
  if (find_role(tasks.roles, "worker") == nullptr && snapshot.has("TF_PS_HOSTS")) {
    return nothing_says(tasks.source, "where the workers are", "TF_WORKER_HOSTS");
  }
  TRY(read_own_task(tasks, snapshot));
  return std::optional(std::move(tasks));
}

std::string text_of(const RoleEndpoints* list) {
  return list == nullptr ? "" : shortened(join(list->endpoints, ","));
}

/// Fails unless each role of the variables is in TF_CONFIG, which may have more roles.
Result<> check_agreement(const TaskLists& config, const TaskLists& lists) {
  for (const RoleEndpoints& list : lists.roles) {
    const RoleEndpoints* const other = find_role(config.roles, list.role);
    if (other == nullptr || other->endpoints != list.endpoints) {
      return contradiction({text_of(&list), lists.source}, {text_of(other), config.source},
                           "both list the tasks of the role " + list.role);
    }
  }
  if (config.role != lists.role || config.index != lists.index) {
    return contradiction({lists.role + " " + std::to_string(lists.index), lists.own_source},
                         {config.role + " " + std::to_string(config.index), part_of(config.own_source, " task")},
                         "both say which task this is");
  }
  return {};
}

}  // namespace

Result<std::optional<TaskLists>> read_task_lists(const Snapshot& snapshot, const Roles& roles) {
  auto lists = read_list_variables(snapshot, roles);
  const auto text = sourced_variable(snapshot, "TF_CONFIG");
  if (!lists || !text) {
    return lists;
  }
  auto config = TRY(read_task_config(*text, roles));
  if (*lists) {
    TRY(check_agreement(config, **lists));
  }
  return std::optional(std::move(config));
}

bool are_several_tasks(const Snapshot& snapshot) {
  const auto text = snapshot.variable("TF_CONFIG");
  if (!text || text->empty()) {
    return false;
  }
  const auto tasks = read_task_config({*text, from_variable("TF_CONFIG")}, tensorflow_roles());
  return !tasks || (!tasks->is_alone && hosts_of(*tasks).size() > 1);
}

// Each platform's reader reads the lists, with the mode's roles.
const Platform kTfjob = {.name = "tfjob",
                         .signs = {.any = {"TF_CONFIG", "TF_PS_HOSTS", "TF_WORKER_HOSTS"}},
                         .counts = {"TF_CONFIG", "TF_PS_HOSTS", "TF_WORKER_HOSTS"},
                         .is_list_of_tasks = true};

// Kubeflow's PaddleJob, in its collective form: PADDLE_NNODES counts pods, each of which is a node. No variable has
// the rank: PADDLE_MASTER is the first worker's own address there and its name on the others, so the others are
// numbered in the order of arrival.
// Source: kubeflow/training-operator, pkg/controller.v1/paddlepaddle/envvar.go.

namespace {

Result<> read_paddlejob(PlatformFacts& facts, const Snapshot& snapshot) {
  if (const auto name = first_set(snapshot, {"PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM"})) {
    const auto role = *sourced_variable(snapshot, *name);
    facts.nodes.reset();
    facts.no_nodes = Error{error_kind(role.source),
                           *name + " is '" + role.value +
                               "': this PaddleJob has Master replicas, which are parameter "
                               "servers; leave them out, or give --nnodes if all pods run the same training"};
  }
  return {};
}

}  // namespace

// The trainers of paddle.distributed.launch and of muster have these two variables as well, and a rank.
const Platform kPaddlejob = {
    .name = "paddlejob",
    .sign_text = "PADDLE_NNODES with PADDLE_MASTER",
    .signs = {.any = {"PADDLE_NNODES"}, .with = {"PADDLE_MASTER"}, .without = {"PADDLE_TRAINER_ID"}},
    .variables = {.node_range = "PADDLE_NNODES", .meeting_point = "PADDLE_MASTER", .job_id = "PADDLE_JOB_ID"},
    .read = read_paddlejob,
    .counts = {"PADDLE_NNODES", "PADDLE_TRAINERS_NUM"},
    .may_lack_rank = true};

// Kubeflow's MPIJob, and the MPI runtimes of Trainer v2. Only the launcher's pod has the list of workers, a hostfile;
// the workers run sshd until a program is started there. A muster in the launcher's pod would be alone, or wait for
// nodes that never start, so it is refused, and the error names the command that starts the workers. Processes of
// mpirun belong to the platform mpirun.
// Source: kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go; kubeflow/trainer, the plugin mpi.

namespace {

constexpr const char* kHostfile = "/etc/mpi/hostfile";

std::optional<std::string> find_mpijob_sign(const Snapshot& snapshot) {
  if (snapshot.has("K_MPI_JOB_ROLE")) {
    return "K_MPI_JOB_ROLE";
  }
  for (const char* const name : {"OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"}) {
    if (snapshot.variable(name) == kHostfile) {
      return name;
    }
  }
  return std::nullopt;
}

Error has_no_starter(const Sourced<std::string>& text, const std::string& what) {
  return Error{ErrorKind::BadEnvironment, text.source.name + " is '" + text.value + "', and " + what +
                                              "; in the pod of the launcher 'muster --hostfile " + kHostfile +
                                              "' starts it on all hosts of the job"};
}

Result<> read_mpijob(PlatformFacts& facts, const Snapshot& snapshot) {
  const Sourced<std::string> sign = *sourced_variable(snapshot, *find_mpijob_sign(snapshot));
  const auto file = snapshot.files.find(kHostfile);
  if (file == snapshot.files.end()) {
    facts.no_nodes = has_no_starter(sign, "nothing here says which hosts the job has");
    return {};
  }
  const auto list = TRY(read_hostfile({file->second, {SourceKind::File, kHostfile}}));
  const auto own =
      std::ranges::find_if(list.value, [&](const HostSlots& host) { return is_this_host(host.host, snapshot); });
  if (own == list.value.end() || list.value.size() > 1) {
    facts.no_nodes = has_no_starter(sign, "nothing starts muster on the workers");
    return {};
  }
  facts.nodes = {1, list.source};
  if (own->slots) {
    facts.slots = {std::to_string(*own->slots), list.source};
  }
  return {};
}

}  // namespace

const Platform kMpijob = {.name = "mpijob",
                          .sign_text = "K_MPI_JOB_ROLE or a hostfile in /etc/mpi",
                          .find_sign = find_mpijob_sign,
                          .read = read_mpijob,
                          .counts = {kHostfile}};

// Kubeflow's jobs of JAX: each pod is a node and runs one process, which sees all devices of the pod. NUM_PROCESSES
// and PROCESS_ID therefore count nodes. JAXJob sets four common names, which are a sign only together; the JAX
// runtimes of Trainer v2 set the same with JAX_ in front. The processes of a job in muster's own mode jax have no
// JAX_COORDINATOR_PORT.
// Source: kubeflow/training-operator, pkg/controller.v1/jax/envvar.go; kubeflow/trainer, the plugin jax.

namespace {

constexpr PlatformVariables kOfTrainer = {.nodes = {"JAX_NUM_PROCESSES"},
                                          .node_rank = {"JAX_PROCESS_ID"},
                                          .port = "JAX_COORDINATOR_PORT",
                                          .meeting_point = "JAX_COORDINATOR_ADDRESS"};
constexpr PlatformVariables kOfJob = {.nodes = {"NUM_PROCESSES"},
                                      .node_rank = {"PROCESS_ID"},
                                      .port = "COORDINATOR_PORT",
                                      .meeting_point = "COORDINATOR_ADDRESS"};

/// The set whose names are all set; null: none.
const PlatformVariables* find_jax_variables(const Snapshot& snapshot) {
  const auto are_set = [&](const PlatformVariables& set) {
    const auto names = {set.nodes.front(), set.node_rank.front(), set.port, set.meeting_point};
    return std::ranges::all_of(names, [&](const char* const name) { return snapshot.has(name); });
  };
  return are_set(kOfTrainer) ? &kOfTrainer : are_set(kOfJob) ? &kOfJob : nullptr;
}

std::optional<std::string> find_jaxjob_sign(const Snapshot& snapshot) {
  const PlatformVariables* const variables = find_jax_variables(snapshot);
  return variables == nullptr ? std::nullopt : std::optional<std::string>(variables->nodes.front());
}

Result<> read_jaxjob(PlatformFacts& facts, const Snapshot& snapshot) {
  TRY(read_variables(facts, *find_jax_variables(snapshot), snapshot));
  facts.slots = {"1", facts.nodes->source};
  return {};
}

}  // namespace

const Platform kJaxjob = {.name = "jaxjob",
                          .sign_text = "NUM_PROCESSES, PROCESS_ID and COORDINATOR_*, or these with JAX_",
                          .find_sign = find_jaxjob_sign,
                          .read = read_jaxjob,
                          .counts = {"NUM_PROCESSES", "JAX_NUM_PROCESSES"}};

}  // namespace muster
