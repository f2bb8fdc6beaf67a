#pragma once

// Reads JSON values of platforms strictly, and the task lists in them. Errors name the place, such as "TF_CONFIG
// task.index".

#include "base/json.hpp"
#include "platforms/platform.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Parses a JSON text; `expected` completes the error.
[[nodiscard]] Result<json::value> read_json(const Sourced<std::string>& text, std::string_view expected);

/// Parses a JSON object with unique keys; `expected` completes the error.
[[nodiscard]] Result<json::object> read_json_object(const Sourced<std::string>& text, std::string_view expected);

/// Formats a member for messages: JSON as written, text without quotes.
std::string shown(const json::value* value);

/// "<place> is '<value>', expected <what>"; without the value where the member is missing.
Error wrong_member(const Source& place, const json::value* value, std::string_view expected);

/// The members of an object.
[[nodiscard]] Result<const json::object*> read_json_members(const Source& place, const json::value* value,
                                                            std::string_view expected);

/// Reads a non-empty list of texts.
[[nodiscard]] Result<std::vector<std::string>> read_json_texts(const Source& place, const json::value* value,
                                                               std::string_view expected);

/// Reads a whole number of at least 0, which some platforms quote.
[[nodiscard]] Result<int> read_json_number(const Source& place, const json::value* value, std::string_view expected);

// Variables that list all tasks of a job.

/// Sorts the roles in the order of numbering, and drops roles without processes. Each role is listed once.
template <typename Item, typename Condition>
std::vector<Item> in_order_of(const Roles& roles, const std::vector<Item>& items, const Condition& has_processes) {
  std::vector<Item> ordered;
  for (const std::string& role : roles) {
    std::ranges::copy_if(items, std::back_inserter(ordered),
                         [&](const Item& one) { return one.role == role && has_processes(one); });
  }
  return ordered;
}

/// Reads TF_CONFIG, or TF_PS_HOSTS and TF_WORKER_HOSTS, for these roles. Fails where the two disagree. Empty when
/// neither is set.
[[nodiscard]] Result<std::optional<TaskLists>> read_task_lists(const Snapshot& snapshot, const Roles& roles);

/// True when TF_CONFIG lists several tasks, or is unreadable and may list several.
bool are_several_tasks(const Snapshot& snapshot);

}  // namespace muster
