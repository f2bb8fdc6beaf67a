#pragma once

// Where a daemon waits for mpirun's remote shell: many may come, and only who knows the job's secret is obeyed.
// Private to run/.

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <string>

namespace muster {

struct CommandRequest {
  UniqueFd link;  ///< which ends when the command has ended
  std::string command;
};

/// The first command of somebody who knows the secret, and who has been told that it runs. Whoever connects is heard
/// while others take their time, which is ten seconds. Fails where nobody can come in.
[[nodiscard]] Result<CommandRequest> wait_for_command(const UniqueFd& listener,
                                                      const std::string& secret);

}  // namespace muster
