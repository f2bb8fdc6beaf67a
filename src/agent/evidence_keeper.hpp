#pragma once

// Keeps what workers have written by themselves into the run folder when the job did not succeed (docs/hangs.md).
// Private to src/agent.

#include "agent/outcome.hpp"
#include "agent/run.hpp"
#include "plan/launch_plan.hpp"
#include "process/helper_process.hpp"

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
    AskedDump,  ///< likewise, for a question of ours
    ErrorFile
  };
  Kind kind = Kind::Dump;
  GlobalRank rank;
  int attempt = 0;
  std::string path;
};

/// A core file of a process; the kernel knows where.
struct EndedWithCore {
  GlobalRank rank;
  int attempt = 0;
  pid_t pid = -1;
  int signal = 0;
  std::string folder;  ///< working directory
};

/// The folders in which files of ranks are kept that would end in the run folder.
struct EvidencePlaces {
  std::string log_folder;  ///< of the attempt; empty: the job writes no files, and the others are taken
  std::string dumps;       ///< where PyTorch writes dumps by itself; empty: unknown
  std::string temporary;   ///< for error files, and if the owner of a dump may not write there
};

/// The folder in which PyTorch 2.13 puts dumps, by XDG_CACHE_HOME and HOME. Empty: neither is set. Pure.
/// Source: DebugInfoWriter::getWriter in torch/csrc/distributed/c10d/FlightRecorder.cpp.
[[nodiscard]] std::string default_dump_folder(const std::map<std::string, std::string>& variables);

/// "comm_lib_trace_rank_3": as PyTorch calls it, so that its reader finds it. The second of that name is
/// "comm_lib_trace_2_rank_3": the reader expects a rank at the end. Pure.
[[nodiscard]] std::string name_evidence(EvidenceSource::Kind kind, GlobalRank rank, int copy);

/// A pattern for glob(3) by that of core(5); what only the kernel knows is '*'. Pure.
[[nodiscard]] std::string core_file_pattern(const std::string& pattern, bool adds_pid, const EndedWithCore& core);

/// Moves the files of each attempt away before the next one writes its own, and copies them: of an attempt with log
/// files in the background, of others when the job ends without success. Both in helper processes, because a file
/// system may hang.
class EvidenceKeeper {
 public:
  using Then = std::function<void()>;

  /// The run outlives it.
  EvidenceKeeper(boost::asio::io_context& io, HelperProcesses& helpers, const RunContext& run);

  /// The attempt is over here, and has not succeeded. Calls `then` once, maybe at once. Does nothing the second time.
  void end_attempt(const LaunchPlan& plan, const std::vector<WorkerResult>& workers, const std::string& log_folder,
                   Then then);
  /// Calls `then` when everything is kept, or after a few seconds.
  void end_job(Then then);
  /// Returns the files that have been kept so far.
  [[nodiscard]] const std::vector<KeptEvidence>& kept() const { return kept_; }

 private:
  struct Lot {
    std::vector<EvidenceSource> sources;
    std::vector<EndedWithCore> cores;
    std::string log_folder;
  };

  void copy(Lot lot);

  const RunContext& run_;
  HelperTask helper_task_;
  int last_attempt_ = -1;
  std::vector<Lot> waiting_;  ///< moved away, for the end of the job
  std::vector<KeptEvidence> kept_;
};

}  // namespace muster
