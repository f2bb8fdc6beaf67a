#pragma once

// Values that platforms write as JSON, read strictly. What is wrong is named by its place, such as
// "TF_CONFIG task.index".

#include "base/json.hpp"
#include "platforms/platform.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The text must be JSON; what is `expected` is for people.
[[nodiscard]] Result<json::value> read_json(const Sourced<std::string>& text, std::string_view expected);

/// The text must be an object, with each key once; what is `expected` is for people.
[[nodiscard]] Result<json::object> read_json_object(const Sourced<std::string>& text, std::string_view expected);

/// A member for messages: of JSON as it stands there, of text without quotes.
[[nodiscard]] std::string shown(const json::value* value);

/// "<place> is '<value>', expected <what>"; nothing is shown of what is missing.
[[nodiscard]] Error wrong_member(const Source& place, const json::value* value, std::string_view expected);

/// A list of texts, one at least.
[[nodiscard]] Result<std::vector<std::string>> read_json_texts(const Source& place, const json::value* value,
                                                               std::string_view expected);

/// A whole number from `least` on, which some platforms quote.
[[nodiscard]] Result<int> read_json_number(const Source& place, const json::value* value, int least,
                                           std::string_view expected);

// The variables that list all tasks of a job.

/// What TF_CONFIG, or TF_PS_HOSTS and TF_WORKER_HOSTS, say about these roles; both must say the
/// same. Empty when neither says anything.
[[nodiscard]] Result<std::optional<TaskLists>> read_task_lists(const Snapshot& snapshot, const Roles& roles);

/// True when TF_CONFIG lists several tasks, or cannot be read: then nobody knows that it does not.
[[nodiscard]] bool are_several_tasks(const Snapshot& snapshot);

}  // namespace muster
