#pragma once

// Describes this node for the gang: the state of its workers, and where its ranks are. Private to src/agent.

#include "agent/attempt.hpp"
#include "agent/hang/rank_evidence.hpp"
#include "agent/process_loop.hpp"
#include "agent/service_requests.hpp"
#include "base/file_io.hpp"
#include "control/status.hpp"
#include "gang/gang.hpp"
#include "hang/process_memory.hpp"
#include "ledger/formats.hpp"
#include "process/helper_process.hpp"
#include "process/worker_port.hpp"
#include "run/run_context.hpp"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

// Questions about ranks, see gang::StatusQuery.
inline constexpr const char* kStacks = "stacks";
inline constexpr const char* kStacksAndRecorders = "recorders";
inline constexpr const char* kNcclToo = "nccl";
inline constexpr const char* kNcclOfAnyVersion = "nccl=yes";

/// Answers questions of the gang about this node in helper processes, and gives the workers what they need to be asked:
/// a file for their heartbeats, a pipe of their flight recorders, a port of NCCL.
class StatusReporter {
 public:
  /// The references outlive it. `attempt`: the present one; null: none yet.
  StatusReporter(ProcessLoop& loop, const RunContext& run, gang::Gang& gang, ServiceRequests& services,
                 const std::unique_ptr<Attempt>& attempt);

  /// Counts the standbys that are ready.
  std::function<std::size_t()> standbys;

  /// Adds to the workers' environment, and removes the heartbeats of earlier workers.
  void begin_attempt(LaunchPlan& plan);
  /// To be answered by an event `StatusReport`.
  void describe(const gang::StatusQuery& wanted);
  /// Answers no more questions, because the job has ended.
  void end();

  /// The state of this node, without values from files or /proc.
  control::NodeStatus describe_node() const;
  /// The state of the living workers, with what their programs told by progress() and heartbeat(). Reads files.
  std::vector<ledger::RankState> rank_states() const;
  /// "rank 3", the worker that is `pid` or an ancestor of it; empty: none.
  std::optional<std::string> name_process(pid_t pid) const;
  /// Ranks of the job in the present attempt.
  int rank_count() const;
  /// Returns how often each question has been asked about the ranks, by its name in --hang-ask.
  std::map<std::string, std::uint64_t> asked() const;

 private:
  void add_recorder_environment(WorkerPlan& worker) const;
  void give_nccl_port(LaunchPlan& plan);
  EvidenceSources sources_of(const std::string& what) const;
  void describe_pending();
  void ask_store_and_describe(const std::set<int>& numbers, const EvidenceSources& sources);
  void describe_stacks(const std::set<int>& numbers, const EvidenceSources& sources, const std::string& store);
  void send_description(const std::set<int>& numbers, const std::string& line);
  control::NodeStatus describe_with_heartbeats() const;
  std::string status_line() const;
  std::string stacks_line(const EvidenceSources& sources, const std::string& store) const;
  std::string heartbeat_file(std::size_t worker) const;

  ProcessLoop& loop_;
  const RunContext& run_;
  gang::Gang& gang_;
  ServiceRequests& services_;
  const std::unique_ptr<Attempt>& attempt_;
  HelperTask helper_;                               ///< reads /proc and the heartbeats
  std::map<std::string, std::set<int>> described_;  ///< open queries: their `what`, with their numbers
  bool is_describing_ = false;
  bool has_ended_ = false;
  Result<SharedArray<hang::AskedCounts>> asked_ = share_array<hang::AskedCounts>(1);  ///< counted in helper processes
  std::optional<WorkerPort> nccl_port_;  ///< empty: not needed yet, or there is none
  NcclQuestion nccl_;                    ///< the way to NCCL in the workers of this attempt
  RecorderFolders recorders_;            ///< the flight recorders of this attempt
};

}  // namespace muster
