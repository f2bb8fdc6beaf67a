#pragma once

// Keeps what workers have written by themselves into their folders when the job did not succeed (docs/hangs.md).
// Private to src/agent.

#include "plan/launch_plan.hpp"
#include "process/helper_process.hpp"
#include "run/outcome.hpp"
#include "run/run_context.hpp"

#include <boost/asio/io_context.hpp>

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace muster {

/// Most bytes that are copied of one rank.
inline constexpr std::size_t kMostEvidenceBytes = std::size_t{256} << 20U;

/// A file that a worker may have written, and what it is called where it is kept.
struct EvidenceSource {
  enum class Kind {
    Dump,       ///< of a flight recorder
    AskedDump,  ///< of a flight recorder, which muster has asked for it
    ErrorFile,
    Core,  ///< in the folder of the rank; stays where it is
    Other
  };
  Kind kind = Kind::Dump;
  GlobalRank rank;
  int attempt = 0;
  std::string path;
};

/// The folder of a rank (agent/rank_folders.hpp), with what it may have written into it.
struct EvidenceFolder {
  GlobalRank rank;
  int attempt = 0;
  std::string path;
  std::string error_file;  ///< in this folder or elsewhere; empty: none
  uid_t user = 0;          ///< the user of the rank when it ended; 0: root, or unknown
};

/// A core file of a process; the kernel knows where.
struct EndedWithCore {
  GlobalRank rank;
  int attempt = 0;
  pid_t pid = -1;
  int signal = 0;
  std::string folder;  ///< working directory
};

/// The folders in which files of ranks are kept.
struct EvidencePlaces {
  std::string log_folder;  ///< of the attempt; empty: the job writes no files, and the others are taken
  std::string dumps;       ///< where PyTorch writes dumps by itself; empty: unknown
  std::string temporary;   ///< for other files, and if the owner of a dump may not write there
};

/// The folder in which PyTorch 2.13 puts dumps, by XDG_CACHE_HOME and HOME. Empty: neither is set. Pure.
/// Source: DebugInfoWriter::getWriter in torch/csrc/distributed/c10d/FlightRecorder.cpp.
std::string default_dump_folder(const std::map<std::string, std::string>& variables);

/// "comm_lib_trace_rank_3": as PyTorch calls it, so that its reader finds it. The second of that name is
/// "comm_lib_trace_2_rank_3": the reader expects a rank at the end. A file of another name: "rank_3_nccl.log". Pure.
std::string name_evidence(const EvidenceSource& source, int copy);

/// A pattern for glob(3) by that of core(5); what only the kernel knows is '*'. Pure.
std::string core_file_pattern(const std::string& pattern, bool adds_pid, const EndedWithCore& core);

/// Copies the files of each attempt: of one with log files in the background, of others when the job ends without
/// success. In helper processes, because a file system may hang.
class EvidenceKeeper {
 public:
  using Then = std::function<void()>;

  /// The run outlives it.
  EvidenceKeeper(boost::asio::io_context& io, HelperProcesses& helpers, const RunContext& run);

  /// The attempt is over here, and has not succeeded. Does nothing the second time.
  void end_attempt(const LaunchPlan& plan, const std::vector<WorkerResult>& workers, const std::vector<uid_t>& users,
                   const std::string& log_folder);
  /// Calls `then` when everything is kept, or after a few seconds.
  void end_job(Then then);
  /// Returns the files that have been kept so far.
  const std::vector<KeptEvidence>& kept() const { return kept_; }

 private:
  struct Lot {
    std::vector<EvidenceFolder> folders;
    std::vector<EndedWithCore> cores;
    std::string log_folder;
  };

  void copy(Lot lot);
  void note(const HelperTask::Answer& answer);

  const RunContext& run_;
  HelperTask helper_task_;
  int last_attempt_ = -1;
  std::vector<Lot> waiting_;  ///< for the end of the job
  std::vector<KeptEvidence> kept_;
};

}  // namespace muster
