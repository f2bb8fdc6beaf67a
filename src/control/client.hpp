#pragma once

// How a command finds a running job on this machine, and asks it.

#include "base/json.hpp"
#include "base/result.hpp"
#include "control/request.hpp"

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace muster::control {

/// An agent that runs on this machine and answers.
struct FoundAgent {
  std::string socket;
  std::string job_id;      ///< empty: it has none
  std::string rendezvous;  ///< "host:port" where its nodes meet; empty: it has one node
  pid_t pid = -1;          ///< of muster, as its user sees it
  std::string version;

  /// Agents of one job, several of which may run on one machine, say the same.
  [[nodiscard]] bool is_of_same_job(const FoundAgent& other) const;
};

/// What was found on this machine.
struct Found {
  std::vector<FoundAgent> agents;
  std::vector<std::string> refusals;  ///< why one did not answer as expected, in sentences
  int of_others = 0;                  ///< that belong to other users
};

/// Looks in shared memory and in the folders for temporary files. Takes at most a few seconds.
[[nodiscard]] Found find_agents(const std::string& temporary_folder);

/// The one agent to ask. `wanted`: an id or a pid; empty: the only job. Fails with one sentence that says what there is.
[[nodiscard]] Result<FoundAgent> choose_agent(const Found& found,
                                              const std::optional<std::string>& wanted);

/// Sends the request and waits for the answer for at most so long. `peer`: who listens there, if that is wanted.
[[nodiscard]] Result<json::object> ask(const std::string& socket,
                                       const Request& request,
                                       std::chrono::milliseconds most_time,
                                       ucred* peer = nullptr);

}  // namespace muster::control
