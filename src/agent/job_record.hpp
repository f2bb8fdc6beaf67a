#pragma once

// Records the time ledger of a node: sums up its events, and writes --events, --trace and --metrics. Private to
// src/agent.

#include "agent/metrics_server.hpp"
#include "agent/process_loop.hpp"
#include "agent/shutdown.hpp"
#include "base/file_io.hpp"
#include "ledger/formats.hpp"
#include "output/log_files.hpp"
#include "process/helper_process.hpp"
#include "process/timers.hpp"
#include "run/run_context.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Never waits for a disk or a client: files of lines go to the writer of the log files, and a page of metrics is made
/// and written in a helper process.
class JobRecord {
 public:
  /// The references outlive it.
  JobRecord(ProcessLoop& loop, PendingWork& pending, const RunContext& run);

  /// Reads the state of the living ranks. Called in a helper process.
  std::function<std::vector<ledger::RankState>()> ranks;

  /// Returns how often each question has been asked about the ranks. Called in a helper process.
  std::function<std::map<std::string, std::uint64_t>()> asked;

  /// Opens what the options name. Fails if the address of --metrics cannot be taken.
  [[nodiscard]] Result<> open();
  /// Records an event, whose times are set here. Nothing follows the end of the job.
  void add(ledger::Event event);
  /// True if the user asked for a record, or the job has been long enough for a closing line.
  bool is_wanted() const;
  /// Tells where the time went.
  std::string closing_line() const { return ledger_.closing_line(); }

 private:
  std::string path_for(const std::string& given);
  std::string page() const;
  void send_page(MetricsServer::Send send);
  void write_page();
  void note_written(const HelperTask::Answer& problem);

  ProcessLoop& loop_;
  PendingWork& pending_;
  const RunContext& run_;
  ledger::Ledger ledger_;
  std::shared_ptr<LogFile> events_;  ///< null: not wanted
  std::shared_ptr<LogFile> trace_;
  std::string metrics_file_;      ///< empty: none
  std::vector<UniqueFd> claims_;  ///< locks on this agent's file names, against other agents of this host
  MetricsServer server_;
  HelperTask page_task_;  ///< for the clients of the server
  std::vector<MetricsServer::Send> waiting_;
  HelperTask file_task_;
  bool has_warned_ = false;
  Timer soon_timer_;  ///< gathers events that follow each other
  Timer regular_timer_;
};

}  // namespace muster
