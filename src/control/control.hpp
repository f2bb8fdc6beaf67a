#pragma once

// Defines what may be asked of a running job through its control socket: one JSON line per request and per answer.
// docs/control.md is the contract for other programs.

#include "base/json.hpp"
#include "base/result.hpp"

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace muster::control {

/// Increased when a request or an answer changes in a way that the other side would misread.
inline constexpr int kVersion = 1;
/// Limit of a request in bytes, with its line end.
inline constexpr std::size_t kMostRequestBytes = 4'096;
inline constexpr const char* kSocketName = "control";

/// Asks which job this is. The agent answers at once, without the leader.
struct HelloRequest {};
/// Asks for the state of the whole job.
struct StatusRequest {};
/// Asks where all ranks of the job are.
struct StacksRequest {};
struct StopRequest {
  std::optional<std::chrono::milliseconds> grace;  ///< empty: each node's own
};
struct SuspendRequest {
  std::optional<std::chrono::milliseconds> within;  ///< empty: the value of --suspend-timeout
  std::string reason;                               ///< one line; may be empty
};
struct WithdrawRequest {};
/// Says that a process of a worker has saved its work.
struct SavedRequest {
  std::optional<int> rank;  ///< the rank that the process reports
};

using Request = std::variant<HelloRequest, StatusRequest, StacksRequest, StopRequest, SuspendRequest, WithdrawRequest,
                             SavedRequest>;

/// Parses a request line without its line end. Fails with `BadData`: not JSON, another version, an unknown request,
/// or a value out of range.
[[nodiscard]] Result<Request> parse_request(std::string_view line);

/// Writes the request as a line with its line end.
[[nodiscard]] std::string write_request(const Request& request);

/// Writes a positive answer as a line with its line end; the fields of `more` are added.
[[nodiscard]] std::string write_answer(const json::object& more = {});
/// Writes a negative answer with its reason: one sentence without a full stop.
[[nodiscard]] std::string write_refusal(const std::string& why);

/// Parses an answer line. Fails with `BadData` if it is no answer, and with `Lost` and the reason if the request was
/// refused.
[[nodiscard]] Result<json::object> parse_answer(std::string_view line);

// Lets a command find a running job on this machine and send it a request.

/// An agent on this machine that answered a hello request.
struct FoundAgent {
  std::string socket;
  std::string job_id;      ///< empty: the job has no id
  std::string rendezvous;  ///< "host:port" where its nodes meet; empty: it has one node
  pid_t pid = -1;          ///< of muster, in the pid namespace of its user
  std::string version;

  /// True for two agents of one job: several may run on one machine.
  [[nodiscard]] bool is_of_same_job(const FoundAgent& other) const;
};

/// Result of `find_agents`.
struct Found {
  std::vector<FoundAgent> agents;
  std::vector<std::string> refusals;  ///< sentences: why an agent did not answer as expected
  int of_others = 0;                  ///< run directories of other users
};

/// Searches shared memory and the temporary directories for control sockets. Takes a few seconds at most.
[[nodiscard]] Found find_agents(const std::string& temporary_folder);

/// Chooses the agent to ask. `wanted`: a job id or a pid; empty: the only job. Fails with one sentence that lists the
/// jobs.
[[nodiscard]] Result<FoundAgent> choose_agent(const Found& found, const std::optional<std::string>& wanted);

/// Sends the request and waits up to `most_time` for the answer. `peer`, if not null, gets the credentials of the
/// listening process.
[[nodiscard]] Result<json::object> ask(const std::string& socket, const Request& request,
                                       std::chrono::milliseconds most_time, ucred* peer = nullptr);

}  // namespace muster::control
