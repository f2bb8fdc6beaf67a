#pragma once

// Reads the files of a program's libraries into the page cache while this node waits for others or for its inputs, by the list that an
// earlier job has kept, and keeps that list (docs/first-step.md). Private to src/agent.

#include "agent/import_files.hpp"
#include "agent/library_files.hpp"
#include "base/file_io.hpp"
#include "ledger/ledger.hpp"
#include "plan/launch_plan.hpp"
#include "process/helper_process.hpp"
#include "process/timer.hpp"
#include "run/run_context.hpp"

#include <boost/asio/io_context.hpp>

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace muster {

/// Reads in a helper process: no job waits or fails. `first` is this node's first worker, `program` its executable.
class ReadAhead {
 public:
  /// The references outlive it.
  ReadAhead(boost::asio::io_context& io, HelperProcesses& helpers, const RunContext& run);

  std::function<void(ledger::Event)> record;

  bool is_wanted() const { return run_.options.read_ahead.is_wanted && !run_.job.plan.is_transparent; }
  /// Reads until a worker writes its first line. To be called when this node has waited for a second.
  void begin_wait(const WorkerPlan& first, const std::string& program);
  void begin_attempt() { is_waiting_ = false; }
  /// Ends the reading, because a worker has written its first line. A moment later, once in a job, keeps the list of the
  /// files that the processes below `pid` have open.
  void note_first_line(const WorkerPlan& first, const std::string& program, pid_t pid);
  /// The workers end, or are to save: reads and keeps nothing more.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<ImportFiles::Of> key_of(const WorkerPlan& first, const std::string& program) const;
  void keep_list(const ImportFiles::Of& of, pid_t pid);
  void end_reading();

  const RunContext& run_;
  HelperTask read_task_;
  HelperTask keep_task_;
  Timer keep_timer_;
  SharedArray<ReadAheadCounts> counts_;  ///< null: nothing has been read
  Clock::time_point began_;
  bool is_waiting_ = true;  ///< no attempt has begun
  bool is_kept_ = false;    ///< the list of this job has been kept
};

}  // namespace muster
