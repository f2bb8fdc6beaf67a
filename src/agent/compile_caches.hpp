#pragma once

// The caches of compilers of this node: filled before the first start, kept while the job runs and at its end
// (docs/first-step.md). Private to src/agent.

#include "agent/cache_files.hpp"
#include "ledger/ledger.hpp"
#include "plan/launch_plan.hpp"
#include "process/helper_process.hpp"
#include "process/timer.hpp"
#include "run/run_context.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <optional>

namespace muster {

/// Fills and keeps the caches in helper processes, one after the other. Never fails a job.
class CompileCaches {
 public:
  /// The references outlive it.
  CompileCaches(boost::asio::io_context& io, HelperProcesses& helpers, const RunContext& run);

  std::function<void(ledger::Event)> record;
  std::chrono::milliseconds keep_interval;  ///< set before `begin_attempt`

  bool are_wanted() const { return !run_.options.caches.folder.empty(); }
  /// Adds the entries that this node lacks, then calls `then`: after half a minute at most.
  void fill(std::function<void()> then);
  /// Keeps new entries from time to time, on node 0.
  void begin_attempt(const LaunchPlan& plan);
  /// Keeps what is new, because the job is to be suspended.
  void on_notice() { keep({}); }
  /// Keeps what is new; no worker is left. If a worker has failed, files of the last moments may be incomplete, and are left
  /// out.
  void end_attempt(bool has_succeeded);
  /// The job ends. Calls `then` when nothing is kept any more, after `most_time` at the latest.
  void end(std::chrono::milliseconds most_time, std::function<void()> then);

 private:
  using Clock = std::chrono::steady_clock;

  void on_filled(const HelperTask::Answer& answer, Clock::time_point began);
  void on_kept(const HelperTask::Answer& answer);
  void keep_later();
  void keep(std::optional<std::chrono::system_clock::time_point> latest);
  void add(HelperTask::Work work, std::chrono::milliseconds most_time);
  void heed(const compile_cache::CacheReport& report);

  const RunContext& run_;
  HelperTask task_;
  Timer keep_timer_;
  Timer end_timer_;
  std::function<void()> at_end_;
  bool is_keeper_ = false;  ///< this is node 0
  bool workers_run_ = false;
  bool is_tried_ = false;           ///< this node has asked whether the store takes a file
  bool store_is_given_up_ = false;  ///< the store hangs, or must not be used
  int queued_ = 0;                  ///< tasks of node 0 that are not done
};

}  // namespace muster
