#pragma once

// Runs a job from its plan to its end: on this node, as an agent of a remote launcher, or as the remote launcher.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "plan_job.hpp"
#include "process/inherited.hpp"
#include "remote/remote_agents.hpp"
#include "report/saved_reports.hpp"
#include "requests.hpp"

#include <optional>
#include <span>
#include <string>

namespace muster {

/// Runs this node's part of the job, reports how it ended, and returns the program's exit code.
[[nodiscard]] Result<int> start_job(Planned planned, const Options& options, const Inherited& inherited,
                                    const Snapshot& snapshot);

/// Keeps the report of a job for `muster last`.
struct ReportKeeper {
  ReportsFolder folder;
  int keep = 0;               ///< number of reports to keep
  bool is_asked_for = false;  ///< --history was given: a report that cannot be kept is an error
  SavedJob job;

  /// `lines`: the console's last ones. Blocks while the file system hangs. Fails with `System` if `is_asked_for`.
  [[nodiscard]] Result<> keep_report(const json::value& report, const std::vector<std::string>& lines) const;
};

/// Name of the report's member in which an agent sends its launcher the lines that it has printed at the end.
inline constexpr const char* kLinesOfReport = "lines";
/// The lines without their log levels.
std::vector<std::string> texts_of(const std::vector<ReportLine>& lines);

/// Makes the keeper for the report of the job with this id, which may be empty. Empty: no report is to be kept.
std::optional<ReportKeeper> make_report_keeper(const Options& options, const std::string& job_id,
                                               const Snapshot& snapshot);

/// Removes an older report and finds out whether a new one can be written (report/report.hpp). If the file system
/// does not respond, only warns. Returns the descriptor of this process that the path names, if it names one.
[[nodiscard]] Result<std::optional<int>> check_report(const Sourced<std::string>& file);

/// Fails as `check_report` does if the folder of --log-dir is not there and cannot be made, or takes no files.
[[nodiscard]] Result<> check_log_dir(const Sourced<std::string>& folder);

// An agent that a remote launcher has started on its host.

/// The order of the remote launcher, and the link for its further messages.
struct RemoteOrder {
  AgentOrder order;
  UniqueFd launcher;
};

/// True if a remote launcher has started this program: its order comes on standard input.
bool is_remote_agent(std::span<char* const> argv);

/// Reads the order, and changes to the directory of the job. Standard input is /dev/null afterwards. Fails if the
/// remote launcher is gone, and if the directory does not exist.
[[nodiscard]] Result<RemoteOrder> read_remote_order();

/// Snapshot of this process's environment, with the variables of the order.
Snapshot take_snapshot(const AgentOrder& order);

// The remote launcher of a job, which starts agents on other hosts.

/// True if the user lists hosts for muster to start agents on.
bool lists_hosts(const CommandLine& line);

/// Decides which agents to start, and where. Reads the list of hosts and the token file. Fails if two settings
/// contradict each other, or the platform starts muster on each node already.
[[nodiscard]] Result<FanOut> plan_fan_out(const CommandLine& line, const Options& options, const Snapshot& snapshot);

/// Runs the job to its end, and returns its exit code.
[[nodiscard]] Result<int> start_fan_out(const FanOut& fan_out, const Options& options, const Inherited& inherited,
                                        const Snapshot& snapshot);

}  // namespace muster
