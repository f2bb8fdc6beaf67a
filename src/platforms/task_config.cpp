// Reads JSON values of platforms, and TF_CONFIG, the variable in which TensorFlow's processes find each other.
#include "platforms/task_config.hpp"

#include "base/text.hpp"
#include "platforms/host_lists.hpp"

#include <algorithm>

namespace muster {

// Reads values in JSON.

Result<json::value> read_json(const Sourced<std::string>& text, std::string_view expected) {
  boost::system::error_code error;
  json::value document = json::parse(without_byte_order_mark(text.value), error);
  return error ? wrong_value({shortened(text.value), text.source},
                             std::string(expected) + describe_json_mistake(text.value))
               : Result<json::value>(std::move(document));
}

Result<json::object> read_json_object(const Sourced<std::string>& text, std::string_view expected) {
  const auto document = TRY(read_json(text, expected));
  const json::object* const members = document.if_object();
  if (members == nullptr) {
    return wrong_value({shortened(text.value), text.source}, expected);
  }
  if (const auto key = find_repeated_key(text.value)) {
    return wrong_value({shortened(text.value), text.source}, "each key once, and '" + *key + "' is there twice");
  }
  return *members;
}

std::string shown(const json::value* value) {
  if (value == nullptr) {
    return "";
  }
  const json::string* const text = value->if_string();
  return shortened(text != nullptr ? std::string(*text) : json::serialize(*value));
}

Error wrong_member(const Source& place, const json::value* value, std::string_view expected) {
  return wrong_value({shown(value), place}, expected);
}

Result<const json::object*> read_json_members(const Source& place, const json::value* value,
                                              std::string_view expected) {
  const json::object* const members = value == nullptr ? nullptr : value->if_object();
  return members != nullptr ? Result<const json::object*>(members) : wrong_member(place, value, expected);
}

Result<std::vector<std::string>> read_json_texts(const Source& place, const json::value* value,
                                                 std::string_view expected) {
  const json::array* const entries = value == nullptr ? nullptr : value->if_array();
  if (entries == nullptr || entries->empty()) {
    return wrong_member(place, value, expected);
  }
  std::vector<std::string> texts;
  for (const json::value& entry : *entries) {
    const json::string* const text = entry.if_string();
    if (text == nullptr) {
      return wrong_member(place, value, expected);
    }
    texts.emplace_back(*text);
  }
  return texts;
}

Result<int> read_json_number(const Source& place, const json::value* value, std::string_view expected) {
  const bool is_number = value != nullptr && (value->is_int64() || value->is_uint64());
  const bool is_text = value != nullptr && value->is_string();
  const auto number = is_number || is_text ? parse_integer(shown(value), 0, kMostNodes - 1) : std::optional<int>();
  if (!number) {
    return wrong_member(place, value, expected);
  }
  return *number;
}

namespace {

/// "master" is an old name of "chief".
std::string role_of(std::string_view name, const Roles& roles) {
  const bool is_old = name == "master" && !contains(roles, name);
  return is_old ? "chief" : std::string(name);
}

Result<RoleEndpoints> read_role(const Source& source, std::string_view name, const std::string& role,
                                const json::value& value) {
  const Source place = part_of(source, " cluster." + std::string(name));
  const json::array* const entries = value.if_array();
  if (entries == nullptr) {
    return wrong_member(place, &value, "a list of host:port with each task at its index");
  }
  RoleEndpoints list{role, {}};
  for (std::size_t i = 0; i < entries->size(); ++i) {
    const json::string* const entry = (*entries)[i].if_string();
    const Sourced<std::string> text{entry != nullptr ? std::string(*entry) : shown(&(*entries)[i]),
                                    part_of(place, "[" + std::to_string(i) + "]")};
    TRY(check_endpoint(text));
    list.endpoints.push_back(text.value);
  }
  return list;
}

/// Reads all lists of the cluster in the order of the document, also of roles that the mode lacks.
Result<std::vector<RoleEndpoints>> read_lists(const Source& source, const json::value* cluster, const Roles& roles) {
  const auto* const members =
      TRY(read_json_members(part_of(source, " cluster"), cluster, "an object with a list for each role"));
  std::vector<RoleEndpoints> lists;
  for (const auto& member : *members) {
    const std::string name(member.key());
    const std::string role = role_of(name, roles);
    if (!contains(tensorflow_roles(), role) && !contains(roles, role)) {
      return wrong_value({name, part_of(source, " cluster")}, "roles of " + join(tensorflow_roles(), ", "));
    }
    if (find_role(lists, role) != nullptr) {
      return wrong_value({name, part_of(source, " cluster")}, "chief or master, not both");
    }
    auto list = TRY(read_role(source, name, role, member.value()));
    lists.push_back(std::move(list));
  }
  TRY(check_endpoints_differ(lists, part_of(source, " cluster")));
  return lists;
}

/// Reads the task of this process.
Result<> read_task(TaskLists& tasks, const json::value* task, const Source& source, const Roles& roles) {
  const Source place = part_of(source, " task");
  const auto* const members = TRY(read_json_members(place, task, "an object with type and index"));
  const json::value* const type = members->if_contains("type");
  const json::value* const index = members->if_contains("index");
  if (type == nullptr || !type->is_string()) {
    return wrong_member(part_of(place, ".type"), type, "the role of this task, such as worker");
  }
  const auto number = TRY(read_json_number(part_of(place, ".index"), index, "the index of this task, such as 0"));
  tasks.role = role_of(shown(type), roles);
  tasks.index = number;
  return {};
}

/// Checks that the lists have this task. An evaluator is no member of the cluster that it evaluates, so it may be
/// missing there.
Result<> find_own_place(TaskLists& tasks, const Source& source, const Roles& roles) {
  if (!contains(roles, tasks.role)) {
    return wrong_value({tasks.role, part_of(source, " task.type")}, "a role of this mode: " + join(roles, ", "));
  }
  const RoleEndpoints* const list = find_role(tasks.roles, tasks.role);
  if (list == nullptr && tasks.role == "evaluator") {
    tasks.is_alone = true;
    return {};
  }
  const std::size_t count = list == nullptr ? 0 : list->endpoints.size();
  if (static_cast<std::size_t>(tasks.index) >= count) {
    return contradiction(Sourced<std::string>{std::to_string(tasks.index), part_of(source, " task.index")},
                         Sourced<std::string>{count_of(count, "task"), part_of(source, " cluster." + tasks.role)},
                         "the cluster does not list this task");
  }
  return {};
}

}  // namespace

Result<TaskLists> read_task_config(const Sourced<std::string>& text, const Roles& roles) {
  const auto members = TRY(read_json_object(text, "a JSON object with cluster and task"));
  if (const json::value* const sparse = members.if_contains("sparseCluster")) {
    return wrong_member(part_of(text.source, " sparseCluster"), sparse,
                        "the cluster with all tasks, as without enableDynamicWorker");
  }
  const auto lists = TRY(read_lists(text.source, members.if_contains("cluster"), roles));
  TaskLists tasks;
  tasks.roles = in_order_of(roles, lists, [](const RoleEndpoints& list) { return !list.endpoints.empty(); });
  tasks.is_task_config = true;
  tasks.source = text.source;
  tasks.own_source = text.source;
  TRY(read_task(tasks, members.if_contains("task"), text.source, roles));
  TRY(find_own_place(tasks, text.source, roles));
  return tasks;
}

}  // namespace muster
