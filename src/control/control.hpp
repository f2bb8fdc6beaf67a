#pragma once

// What may be asked of a running job through its control socket: one line of JSON, answered by one line. docs/control.md is the
// contract for other programs.

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

/// Raised when a request or an answer changes in a way that the other side would misread.
inline constexpr int kVersion = 1;
/// Bytes of a request, with its line end.
inline constexpr std::size_t kMostRequestBytes = 4'096;
/// Name of the socket in the run folder.
inline constexpr const char* kSocketName = "control";

/// Which job this is: answered at once, by the agent alone.
struct HelloRequest {};
/// The state of the whole job.
struct StatusRequest {};
struct StopRequest {
  std::optional<std::chrono::milliseconds> grace;  ///< empty: each node's own
};
struct SuspendRequest {
  std::optional<std::chrono::milliseconds> within;  ///< empty: what --suspend-timeout says
  std::string reason;                               ///< one line; may be empty
};
struct WithdrawRequest {};
/// A process of a worker has saved its work.
struct SavedRequest {
  std::optional<int> rank;  ///< as the process knows it
};

using Request = std::variant<HelloRequest, StatusRequest, StopRequest, SuspendRequest, WithdrawRequest, SavedRequest>;

/// Reads a line, without its end. Fails with `BadData`: no JSON, another version, no such request, a value out of range.
[[nodiscard]] Result<Request> parse_request(std::string_view line);

/// The request as a line with its end.
[[nodiscard]] std::string write_request(const Request& request);

/// An answer as a line with its end: that it is done, with `more` beside it.
[[nodiscard]] std::string write_answer(const json::object& more = {});
/// That it is not done, and why: one sentence without a full stop.
[[nodiscard]] std::string write_refusal(const std::string& why);

/// Reads an answer: the object, or the error that it holds. Fails with `BadData` where it is no answer, and with `Lost` where
/// the request was refused.
[[nodiscard]] Result<json::object> parse_answer(std::string_view line);

// How a command finds a running job on this machine, and asks it.

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
[[nodiscard]] Result<FoundAgent> choose_agent(const Found& found, const std::optional<std::string>& wanted);

/// Sends the request and waits for the answer for at most so long. `peer`: who listens there, if that is wanted.
[[nodiscard]] Result<json::object> ask(const std::string& socket, const Request& request,
                                       std::chrono::milliseconds most_time, ucred* peer = nullptr);

}  // namespace muster::control
