#pragma once

// Describes the state of a job for `muster status`. Each node sends its workers as one JSON line; the asking agent
// joins the lines.

#include "base/json.hpp"
#include "base/ranks.hpp"
#include "control/control.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::control {

/// The present time in the form of requests and of the status: seconds since 1970.
inline double now_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// State of one worker. Times are in seconds; `since` counts from 1970.
struct WorkerStatus {
  std::string role;
  int global_rank = 0;
  int local_rank = 0;
  std::string state;                  ///< "starting", "running", "stopping", "ended with 0", "killed by SIGKILL" ...
  pid_t pid = -1;                     ///< -1: not started
  bool is_alive = false;              ///< it has been started and has not ended; not written
  double since = 0;                   ///< time of its start, or of its end if it has ended
  std::optional<double> cpu_seconds;  ///< of the worker and its living descendants
  std::optional<std::uint64_t> memory_bytes;  ///< resident memory of the same processes
  std::optional<double> output_age;           ///< since its last output; empty: none yet
  std::optional<double> heartbeat_age;        ///< since its program last called heartbeat(); empty: never
  std::optional<std::int64_t> step;           ///< last argument of progress()
  json::object numbers;                       ///< further numbers given to progress()
};

/// State of one node.
struct NodeStatus {
  std::optional<int> node;  ///< empty: the node takes no part
  std::string host;
  pid_t pid = -1;     ///< pid of muster on that node
  std::string state;  ///< "running", "waiting for the start" ...
  int attempt = 0;
  std::size_t standbys = 0;  ///< standbys that are ready to become its workers at a restart
  std::vector<WorkerStatus> workers;
};

/// Writes a status as a JSON line without line end, of at most `most_bytes`. Workers that do not fit are left out and
/// counted.
std::string to_line(const NodeStatus& status, std::size_t most_bytes);

/// Adds to a node's line a text that only the leader knows, unless the text is empty or the line is not JSON.
std::string add_text(std::string line, const char* name, const std::string& text);

/// Joins the lines of the nodes, sorted by node rank. A line that is not JSON is left out.
json::array join_nodes(const std::vector<std::string>& lines);

/// Formats a duration: "45s", "12m05s", "3h20m", "5d06h"; "-" for none.
std::string short_duration(std::optional<double> seconds);

/// The line about the nodes that have not answered a request, with the line end; empty: all have.
std::string silent_nodes_line(const json::object& answer);

/// Formats the answer to a status request as a table with totals. `now`: seconds since 1970.
std::string status_table(const json::object& answer, double now);

/// Formats the jobs of this machine as a table. `now`: seconds since 1970.
std::string jobs_table(const std::vector<FoundAgent>& jobs, double now);
/// Writes them as JSON. A silent job has only its id (null), pid, user and state.
json::array jobs_document(const std::vector<FoundAgent>& jobs);

/// Numbers that a program passed to progress() or heartbeat(): the content of its heartbeat file (docs/control.md).
struct Heartbeat {
  double at = 0;  ///< seconds since 1970
  std::optional<std::int64_t> step;
  json::object numbers;
};
/// Parses a heartbeat file. Empty: the bytes are no heartbeat file, or nothing was written yet.
std::optional<Heartbeat> parse_heartbeat(std::string_view bytes);
inline constexpr std::size_t kHeartbeatBytes = 4'096;

}  // namespace muster::control
