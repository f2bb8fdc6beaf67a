#pragma once

// The state of a job as `muster status` shows it. Each node describes its workers as a line of JSON; who asked puts them together.

#include "base/json.hpp"
#include "base/ranks.hpp"

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::control {

/// One worker. Times are seconds; `since` counts from 1970.
struct WorkerStatus {
  std::string role;
  int global_rank = 0;
  int local_rank = 0;
  std::string state;                  ///< "starting", "running", "stopping", "ended with 0", "killed by SIGKILL" ...
  pid_t pid = -1;                     ///< -1: not started
  double since = 0;                   ///< when it started or, where it has ended, when it ended
  std::optional<double> cpu_seconds;  ///< of it and its descendants that live
  std::optional<std::uint64_t> memory_bytes;  ///< resident, likewise
  std::optional<double> output_age;           ///< since it wrote something; empty: never
  std::optional<double> heartbeat_age;        ///< since its program called heartbeat(); empty: never
  std::optional<std::int64_t> step;           ///< what its program called progress() with
  json::object numbers;                       ///< likewise
};

/// What one node says.
struct NodeStatus {
  std::optional<int> node;  ///< empty: it takes no part
  std::string host;
  pid_t pid = -1;     ///< of muster there
  std::string state;  ///< "running", "waiting for the start" ...
  int attempt = 0;
  std::vector<WorkerStatus> workers;
};

/// As a line of JSON without its end, of at most so many bytes: workers that do not fit are left out and counted.
[[nodiscard]] std::string to_line(const NodeStatus& status, std::size_t most_bytes);

/// Puts the nodes together, by rank. A line that is no JSON is left out.
[[nodiscard]] json::array join_nodes(const std::vector<std::string>& lines);

/// The table for people, with its totals, from the answer to a status request. `now`: seconds since 1970.
[[nodiscard]] std::string status_table(const json::object& answer, double now);

/// The numbers that a program has given to progress() or heartbeat(): the bytes of its heartbeat file (docs/control.md).
struct Heartbeat {
  double at = 0;  ///< seconds since 1970
  std::optional<std::int64_t> step;
  json::object numbers;
};
/// Empty: it is no such file, or nothing was written yet.
[[nodiscard]] std::optional<Heartbeat> parse_heartbeat(std::string_view bytes);
inline constexpr std::size_t kHeartbeatBytes = 4'096;

}  // namespace muster::control
