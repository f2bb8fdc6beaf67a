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

/// Limit of the bytes that are copied for one rank.
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
  std::string log_folder;  ///< of the attempt; empty: the job writes no files, and the folders below are used
  std::string dumps;       ///< where PyTorch writes dumps by itself; empty: unknown
  std::string temporary;   ///< for other files, and for dumps whose owner may not write into `dumps`
};

/// The folder in which PyTorch 2.13 puts dumps, by XDG_CACHE_HOME and HOME. Empty: neither is set. Pure.
/// Source: DebugInfoWriter::getWriter in torch/csrc/distributed/c10d/FlightRecorder.cpp.
std::string default_dump_folder(const std::map<std::string, std::string>& variables);

/// Names a copy. A dump is "comm_lib_trace_rank_3", as PyTorch's reader expects it, a second one
/// "comm_lib_trace_2_rank_3": the reader looks for the rank at the end. Any other file is "rank_3_nccl.log". Pure.
std::string name_evidence(const EvidenceSource& source, int copy);

/// Turns a pattern of core(5) into one of glob(3), with '*' for values that only the kernel knows. Pure.
std::string core_file_glob(const std::string& pattern, bool adds_pid, const EndedWithCore& core);

/// Copies the files of attempts in helper processes, because a file system may hang: in the background if the attempt
/// has log files, otherwise when the job ends without success.
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
