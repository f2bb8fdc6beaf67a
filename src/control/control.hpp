#pragma once

// Defines the requests to a running job through its control socket: one JSON line per request and per answer.
// docs/control.md is the contract for other programs.

#include "base/json.hpp"
#include "base/result.hpp"

#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
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
/// The choice whether NCCL's RAS subsystem in the workers is asked, too: this has made some versions crash.
enum class AskNccl {
  No,
  IfSound,  ///< only a known version of NCCL of which no fault is known
  Always
};
/// Asks where all ranks of the job are.
struct StacksRequest {
  AskNccl nccl = AskNccl::No;
};
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
std::string write_request(const Request& request);

/// Writes a positive answer as a line with its line end; the fields of `more` are added.
std::string write_answer(const json::object& more = {});
/// Writes a negative answer with its reason: one sentence without a full stop.
std::string write_refusal(const std::string& why);

/// Parses an answer line. Fails with `Incomplete` if it is no answer, and with the reason if the request was refused.
[[nodiscard]] Result<json::object> parse_answer(std::string_view line);

// Lets a command find a running job on this machine and send it a request.

/// A process of this machine, as the kernel shows it.
struct SeenProcess {
  uid_t user = 0;      ///< its effective user
  pid_t parent = 0;    ///< 0: not in our pid namespace
  pid_t own_name = 0;  ///< its pid in its own pid namespace
};

/// The process that listens on a control socket, as the kernel tells, and the muster that it claims to be.
struct Listener {
  uid_t folder_owner = 0;
  uid_t user = 0;
  pid_t pid = 0;    ///< 0: it is in a pid namespace that we do not see
  pid_t named = 0;  ///< pid of the muster that it claims to be
};

/// The pid of the muster that listens. Empty, so that another user cannot get root's requests: folder, listener and
/// named muster do not belong to one user, or the named one is neither the listener nor its guard. `find_process`
/// looks up a pid; if it finds none, the kernel's word on the listener is used.
std::optional<pid_t> pid_of_muster(const Listener& listener, uid_t asker,
                                   const std::function<std::optional<SeenProcess>(pid_t)>& find_process);

/// An agent on this machine.
struct FoundAgent {
  std::string socket;
  bool is_silent = false;  ///< the agent lives and has not answered: only socket, pid and peer are known
  std::string job_id;      ///< empty: the job has no id
  std::string rendezvous;  ///< "host:port" where its nodes meet; empty: it has one node
  pid_t pid = -1;          ///< pid of muster in our namespace; 0: a silent one whose pid is not known
  std::string version;
  std::string program;  ///< with its arguments, secrets masked; empty: an older muster
  std::string folder;   ///< where it was started
  std::string state;    ///< of the agent's node: "running"
  int nodes = 1;
  double since = 0;  ///< start of the agent, in seconds since 1970
  ucred peer = {};   ///< the process that listens, as the kernel tells

  /// True if both agents are of one job: several may run on one machine, and have different names for it.
  bool is_of_same_job(const FoundAgent& other) const;
};

/// Result of `find_agents`.
struct Found {
  std::vector<FoundAgent> agents;
  std::vector<std::string> refusals;  ///< sentences: why a run folder is not taken for a job
  int of_others = 0;                  ///< number of run directories of other users
  uid_t asker = 0;                    ///< our user
};

/// Searches shared memory and the temporary directories for control sockets, and asks all of them at once. Takes a
/// few seconds at most. Skips what a muster that has ended left behind.
Found find_agents(const std::string& temporary_folder);

/// One agent for each job that runs here, of all users.
std::vector<FoundAgent> all_jobs(const Found& found);

/// The agents that may be meant, one for each job. `wanted` is a job id or a pid; empty: any. Jobs of the asker hide
/// jobs of other users with the same id, but a pid finds those, too.
std::vector<FoundAgent> choose_jobs(const Found& found, const std::optional<std::string>& wanted);

/// Chooses the agent to ask. `wanted` as in `choose_jobs`; empty: the only job. Fails with a sentence and a table of
/// jobs. A silent agent counts as a job, which must not be overlooked; only its pid chooses it.
[[nodiscard]] Result<FoundAgent> choose_agent(const Found& found, const std::optional<std::string>& wanted);

/// Sends the request and waits up to `most_time` for the answer. Fails with `Incomplete` if the agent has ended, or
/// another process listens there now.
[[nodiscard]] Result<json::object> ask(const FoundAgent& agent, const Request& request,
                                       std::chrono::milliseconds most_time);

}  // namespace muster::control
