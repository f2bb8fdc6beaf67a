#pragma once

// The variables that list all tasks of a job. Private to cluster/.

#include "platforms/tasks.hpp"

namespace muster {

/// What TF_CONFIG, or TF_PS_HOSTS and TF_WORKER_HOSTS, say about these roles; both must say the
/// same. Empty when neither says anything.
[[nodiscard]] Result<std::optional<TaskLists>> read_task_lists(const Snapshot& snapshot,
                                                               const Roles& roles);

/// True when TF_CONFIG lists several tasks, or cannot be read: then nobody knows that it does not.
[[nodiscard]] bool are_several_tasks(const Snapshot& snapshot);

}  // namespace muster
