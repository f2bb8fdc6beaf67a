#pragma once

// Lists of all processes of a job, role by role, as TensorFlow's platforms give them: each process
// is an agent of its own. Private to cluster/.

#include "platforms/platform.hpp"

#include "platforms/cluster.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster {

/// Names of roles, in the order in which agents are numbered over them.
using Roles = std::vector<std::string>;

/// All processes of a job, and which of them this is.
struct TaskLists {
  std::vector<RoleEndpoints> roles;  ///< those with processes, in the order of numbering
  std::string role;                  ///< ours
  int index = 0;                     ///< within our role
  bool is_alone = false;             ///< an evaluator that the lists lack: a job of its own
  bool is_task_config = false;       ///< scripts find the same in TF_CONFIG
  Source source;                     ///< what lists them
  Source own_source;                 ///< what says which of them this is
};

/// The roles that TensorFlow knows.
[[nodiscard]] const Roles& tensorflow_roles();

/// "a:1,b:2" or "[a:1,b:2]", with blanks after the commas or not; addresses of version 6 as in
/// "[::1]:5000". Fails by naming the entry that is no host:port.
[[nodiscard]] Result<std::vector<std::string>> read_endpoints(const Sourced<std::string>& text);

/// TF_CONFIG: {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 0}}. Roles
/// that `roles` lacks are left out; "master" is an old name of "chief".
[[nodiscard]] Result<TaskLists> read_task_config(const Sourced<std::string>& text,
                                                 const Roles& roles);

/// "host:port" with a port from 1 to 65535.
[[nodiscard]] Result<> check_endpoint(const Sourced<std::string>& text);

/// Fails where an entry is found twice: each process needs an address of its own.
[[nodiscard]] Result<> check_endpoints_differ(const std::vector<RoleEndpoints>& lists,
                                              const Source& source);

/// The endpoints of a role; null when it has none.
[[nodiscard]] const RoleEndpoints* find_role(const std::vector<RoleEndpoints>& lists,
                                             const std::string& role);

/// How many processes each role has, in the order of numbering. Of an evaluator alone, itself.
[[nodiscard]] std::vector<RoleSize> sizes_of(const TaskLists& tasks);

/// Which of the agents this is: the tasks of earlier roles come before.
[[nodiscard]] int number_of(const TaskLists& tasks);

/// The hosts of all agents, by number; an evaluator that stands alone has no known one.
[[nodiscard]] std::vector<std::string> hosts_of(const TaskLists& tasks);

/// Ports of the host of agent 0 on which tasks listen, with their entries. An evaluator that stands
/// alone leads on a host of its own, where nobody listens.
[[nodiscard]] std::map<int, std::string> listeners_on_leader(const TaskLists& tasks);

}  // namespace muster
