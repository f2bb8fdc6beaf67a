// TensorFlow's lists of tasks: TF_CONFIG, as Kubeflow's TFJob and Volcano's tensorflow plugin set it,
// and TF_PS_HOSTS with TF_WORKER_HOSTS, as ModelArts does. They may stand beside the variables of
// any platform; where there are no others they are a platform of their own.
#include "platforms/tfjob.hpp"

#include "platforms/hosts.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// A variable with the endpoints of a role.
struct ListVariable {
  const char* name;
  const char* role;
};

constexpr std::array<ListVariable, 2> kLists = {
    {{"TF_WORKER_HOSTS", "worker"}, {"TF_PS_HOSTS", "ps"}}};

Error nothing_says(const Source& known, const std::string& what, const char* variable) {
  return Error{
      ErrorKind::BadEnvironment,
      known.name + " lists tasks, but nothing says " + what + ": " + variable + " is not set"};
}

/// MA_TASK_NAME and the index within that task.
Result<> read_own_task(TaskLists& tasks, const Snapshot& snapshot) {
  const auto name = sourced_variable(snapshot, "MA_TASK_NAME");
  if (!name) {
    return nothing_says(tasks.source, "which role this task has", "MA_TASK_NAME");
  }
  const auto index = read_task_index(snapshot, {"MA_TASK_INDEX", "VC_TASK_INDEX", "VK_TASK_INDEX"});
  if (!index) {
    return index.error();
  }
  if (!*index) {
    return nothing_says(tasks.source, "which index this task has", "VC_TASK_INDEX");
  }
  const RoleEndpoints* const list = find_role(tasks.roles, name->value);
  if (list == nullptr) {
    return contradiction(
        *name, {to_text(sizes_of(tasks)), tasks.source}, "no list has tasks of this role");
  }
  const auto count = static_cast<int>(list->endpoints.size());
  if ((*index)->value >= count) {
    return contradiction(
        **index,
        Sourced<int>{count, from_variable("the number of " + name->value + " tasks")},
        "an index must be below its count");
  }
  tasks.role = name->value;
  tasks.index = (*index)->value;
  tasks.own_source = part_of(name->source, "+" + (*index)->source.name);
  return {};
}

Result<std::optional<TaskLists>> read_list_variables(const Snapshot& snapshot, const Roles& roles) {
  TaskLists tasks;
  std::vector<std::string> names;
  for (const std::string& role : roles) {
    const auto list = std::find_if(kLists.begin(), kLists.end(), [&](const ListVariable& known) {
      return known.role == role && snapshot.has(known.name);
    });
    if (list == kLists.end()) {
      continue;
    }
    auto endpoints = read_endpoints(*sourced_variable(snapshot, list->name));
    if (!endpoints) {
      return endpoints.error();
    }
    tasks.roles.push_back({role, std::move(*endpoints)});
    names.emplace_back(list->name);
  }
  if (tasks.roles.empty()) {
    return std::optional<TaskLists>();
  }
  tasks.source = from_variable(join(names, "+"));
  if (auto checked = check_endpoints_differ(tasks.roles, tasks.source); !checked) {
    return checked.error();
  }
  if (find_role(tasks.roles, "worker") == nullptr && snapshot.has("TF_PS_HOSTS")) {
    return nothing_says(tasks.source, "where the workers are", "TF_WORKER_HOSTS");
  }
  if (auto read = read_own_task(tasks, snapshot); !read) {
    return read.error();
  }
  return std::optional(std::move(tasks));
}

std::string text_of(const RoleEndpoints* list) {
  return list == nullptr ? "" : shortened(join(list->endpoints, ","));
}

/// Each role of the variables must be in TF_CONFIG as well, which may know more roles.
Result<> check_agreement(const TaskLists& config, const TaskLists& lists) {
  for (const RoleEndpoints& list : lists.roles) {
    const RoleEndpoints* const other = find_role(config.roles, list.role);
    if (other == nullptr || other->endpoints != list.endpoints) {
      return contradiction({text_of(&list), lists.source},
                           {text_of(other), config.source},
                           "both list the tasks of the role " + list.role);
    }
  }
  if (config.role != lists.role || config.index != lists.index) {
    return contradiction(
        {lists.role + " " + std::to_string(lists.index), lists.own_source},
        {config.role + " " + std::to_string(config.index), part_of(config.own_source, " task")},
        "both say which task this is");
  }
  return {};
}

constexpr std::array<const char*, 3> kCounts = {"TF_CONFIG", "TF_PS_HOSTS", "TF_WORKER_HOSTS"};

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"TF_CONFIG", "TF_PS_HOSTS", "TF_WORKER_HOSTS"});
}

Result<PlatformFacts> read_platform(const Snapshot& /*snapshot*/) {
  return PlatformFacts();  // the lists are read on each platform, by those who know the roles
}

}  // namespace

const Platform kTfjob = {.name = "tfjob",
                         .signs = "TF_CONFIG, TF_PS_HOSTS or TF_WORKER_HOSTS",
                         .find_sign = find_sign,
                         .read = read_platform,
                         .counts = kCounts,
                         .is_list_of_tasks = true};

Result<std::optional<TaskLists>> read_task_lists(const Snapshot& snapshot, const Roles& roles) {
  auto lists = read_list_variables(snapshot, roles);
  const auto text = sourced_variable(snapshot, "TF_CONFIG");
  if (!lists || !text) {
    return lists;
  }
  auto config = read_task_config(*text, roles);
  if (!config) {
    return config.error();
  }
  if (*lists) {
    if (auto checked = check_agreement(*config, **lists); !checked) {
      return checked.error();
    }
  }
  return std::optional(std::move(*config));
}

bool are_several_tasks(const Snapshot& snapshot) {
  const auto text = snapshot.variable("TF_CONFIG");
  if (!text || text->empty()) {
    return false;
  }
  const auto tasks = read_task_config({*text, from_variable("TF_CONFIG")}, tensorflow_roles());
  return !tasks || (!tasks->is_alone && hosts_of(*tasks).size() > 1);
}

}  // namespace muster
