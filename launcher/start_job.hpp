#pragma once

// From the plan to the end of the job.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "plan_job.hpp"
#include "process/inherited.hpp"
#include "remote/remote_agents.hpp"
#include "requests.hpp"

#include <optional>
#include <span>
#include <string>

namespace muster {

/// Runs this node's part of the job, says how it ended, and returns the program's exit code.
[[nodiscard]] Result<int> start_job(Planned planned, const Options& options, const Inherited& inherited,
                                    const Snapshot& snapshot);

// The report, before anything is started.

/// Removes an older report and finds out whether a new one can be written (report/report.hpp). A file system that does
/// not answer is said, and not waited for. Returns the descriptor of ours that the path names, if it does.
[[nodiscard]] Result<std::optional<int>> try_report(const Sourced<std::string>& file);

// muster as an agent that the front of a job has started on its host.

/// What it has been told, and where it hears more.
struct RemoteOrder {
  AgentOrder order;
  UniqueFd launcher;
};

/// True when a front has started this program: its order comes on standard input.
[[nodiscard]] bool is_agent_of_front(std::span<char* const> argv);

/// Reads the order, and goes to the folder of the job. Standard input is /dev/null afterwards. Fails when
/// the front is gone, and for a folder that is not there.
[[nodiscard]] Result<RemoteOrder> read_remote_order();

/// The surroundings of this process, with the variables of the order.
[[nodiscard]] Snapshot take_snapshot(const AgentOrder& order);

// muster as the front of a job: starts its agents on other hosts.

/// True when the user lists hosts for muster to start agents on.
[[nodiscard]] bool lists_hosts(const CommandLine& line);

/// Decides who is started where. Reads the list of hosts and the token file. Fails where two settings
/// contradict each other, or where the platform starts muster on each node already.
[[nodiscard]] Result<FanOut> plan_fan_out(const CommandLine& line, const Options& options, const Snapshot& snapshot);

/// Runs the job to its end, and returns its exit code.
[[nodiscard]] Result<int> start_fan_out(const FanOut& fan_out, const Options& options, const Inherited& inherited,
                                        const Snapshot& snapshot);

}  // namespace muster
