#pragma once

// The agent: owns the event loop, the running attempt and the link to the gang, and passes events between them.
// Private to src/agent.

#include "agent/attempt.hpp"
#include "agent/input_watcher.hpp"
#include "agent/job_control.hpp"
#include "agent/pending_work.hpp"
#include "agent/run.hpp"
#include "agent/startup_exchange.hpp"
#include "agent/worker_files.hpp"
#include "environment/cgroups.hpp"
#include "exchange/startup_values.hpp"
#include "gang/gang.hpp"
#include "guard/guard.hpp"
#include "notices/notice_source.hpp"
#include "output/output_queues.hpp"
#include "process/helper_process.hpp"
#include "process/timers.hpp"
#include "remote/remote_launcher.hpp"
#include "services/named_pipe.hpp"
#include "services/service.hpp"
#include "services/torch_store/store_process.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

class Agent : private gang::NodeActions, private ServiceHost, private NoticeSourceOwner {
 public:
  Agent(const RunContext& run, GuardLink link);

  /// Runs the job to its end and returns the exit code.
  int run();

 private:
  /// Least time for writing the report; most time for report and log files after a second stop signal.
  static constexpr std::chrono::milliseconds kMoment{300};

  using Clock = std::chrono::steady_clock;
  using Descriptor = boost::asio::posix::stream_descriptor;
  using ErrorCode = boost::system::error_code;

  // Names of pending work.
  static constexpr const char* kEndOfJob = "the end of the job";
  static constexpr const char* kFilesOfServices = "the files of the services";

  void wait_for(Descriptor& descriptor, void (Agent::*handler)(const ErrorCode&));
  void on_signals(const ErrorCode& error);
  void on_guard_lost(const ErrorCode& error);
  void take_signal(int signal);
  void request_stop(int signal);
  void stop(int signal);
  void act_on_failures();
  void connect_launcher();

  // Control socket and notices.
  [[nodiscard]] JobState job_state() const;
  void start_control();
  [[nodiscard]] control::NodeStatus describe_node() const;
  void add_job_environment(LaunchPlan& plan, const gang::Start& start) const;
  void request_suspend(int signal);
  void take_notice(const std::string& source, std::optional<std::chrono::milliseconds> within) override;
  void withdraw_notice(const std::string& source) override;

  // Requests of the gang.
  void act(const gang::StartAttempt& wanted) override;
  void act(const gang::Value& exchanged) override;
  void act(const gang::StopAttempt& stop) override;
  void act(const gang::PassSignal& wanted) override;
  void act(const gang::KillAttempt& /*wanted*/) override { attempt_->kill(); }
  void act(const gang::SuspendNotice& notice) override;
  void act(const gang::DescribeStatus& wanted) override { control_.describe_status(wanted); }
  void act(const gang::StatusOfNode& status) override { control_.take_status(status); }
  void renew_lease(const gang::Lease& lease) override { heartbeat_sender_.renew(lease); }
  [[nodiscard]] Result<AttemptPorts> reserve_ports() override;
  void on_job_end(const JobEnd& end) override;
  void on_gang_closed() override;

  // Requests of services.
  [[nodiscard]] Result<std::unique_ptr<Sidecar>> start_sidecar(const SidecarRequest& request,
                                                               SidecarEvents events) override {
    return sidecars_.start(request, std::move(events));
  }
  [[nodiscard]] Result<std::unique_ptr<NamedPipe>> open_pipe(const std::string& path, PipeOwner& owner) override {
    return muster::open_pipe(io_, path, owner);
  }
  [[nodiscard]] Result<> contribute(gang::Contributed value) override { return gang_.contribute(std::move(value)); }
  void write_as_worker(std::size_t worker, std::string_view lines) override {
    if (attempt_) {
      attempt_->write_as_worker(worker, lines);
    }
  }
  void run_later(std::function<void()> work) override { boost::asio::post(io_, std::move(work)); }
  void write_files(std::string what, HelperTask::Work work, HelperTask::Then then) override;
  void remove_files(HelperTask::Work work) override;
  [[nodiscard]] std::vector<gang::NodePlace> nodes() const override { return gang_.nodes(); }
  [[nodiscard]] std::optional<int> rank_of(std::uint32_t pid) const override {
    return attempt_ ? attempt_->rank_of(static_cast<pid_t>(pid)) : std::nullopt;
  }
  std::optional<int> signal_process(int pid, int signal) override {
    return attempt_ ? attempt_->signal_process(pid, signal) : std::nullopt;
  }
  void note_init(std::chrono::nanoseconds time) override { init_time_ = time; }

  [[nodiscard]] LaunchPlan plan_of_attempt(const gang::Start& start, const gang::Exchanged& merged);
  void log_start_method(const AgreedMethod& method, const Placement& placement) const;
  void log_start(const LaunchPlan& plan, const std::string& interface) const;
  void on_workers_asked(int signal);
  void on_attempt_over();
  void report_attempt_over(std::optional<bool> made_progress);
  [[nodiscard]] std::string attempt_name() const;
  void retire_attempt();
  void wait_for_inputs();
  [[nodiscard]] Result<> take_table(rank_table::TableFile file);
  [[nodiscard]] std::string find_route();
  [[nodiscard]] std::unique_ptr<Services> make_services(const std::vector<std::string>& names);
  void add_file_work(HelperTask::Task task);
  void note_awaited_keys(const store::AwaitedKeys& awaited);
  void log_slow_files() const;
  [[nodiscard]] gang::GangSetup setup_with_keys() const;
  [[nodiscard]] Result<> contribute();
  [[nodiscard]] Result<> contribute_table();

  // End of the job: drained output and exit report.
  void report_suspended();
  void note_source_done() override;
  void finalize();
  void write_report();
  void print_exit_report(const Result<>& report);
  void exit_now();
  void give_up_logs();
  void wait_for_last_lines();
  void log_pending_work();
  [[nodiscard]] Outcome make_outcome();

  RunContext run_;
  GuardLink link_;
  boost::asio::io_context io_{1};
  HelperProcesses helpers_;
  OutputQueues queues_;
  RankTableProgress progress_;
  StoreProcess store_;
  Sidecars sidecars_;
  JobControl control_;
  std::vector<std::unique_ptr<NoticeSource>> notice_sources_;
  std::size_t pending_sources_ = 0;        ///< sources that have not yet reported the suspension
  Result<std::vector<WorkerPort>> ports_;  ///< of workers that listen, reserved for all attempts
  gang::Gang gang_;
  InputWatcher inputs_;
  RankTableExchange table_;
  RoutePlanVote route_;
  PendingWork pending_work_;
  HelperTask service_files_;
  std::string pending_file_;  ///< the file being written, for messages
  std::unique_ptr<Attempt> attempt_;
  std::unique_ptr<Services> services_;  ///< of the attempt that the leader is about to start
  Descriptor signals_;
  Descriptor lifeline_;
  std::optional<JobEnd> end_;
  const std::string run_id_;         ///< of a one-node job without an id: a random UUID, as in torchrun
  const std::string log_token_;      ///< makes the log directory's name unique among runs
  std::set<int> reported_attempts_;  ///< see `Outcome`
  Clock::time_point started_ = Clock::now();
  SignalDebounce stop_debounce_;
  int stop_sent_by_guard_ = 0;  ///< sent by the guard to the workers already, and still to be read here
  HeartbeatSender heartbeat_sender_;
  /// Read once, before other nodes depend on this agent: the kernel delays the answer while anyone moves a process
  /// between control groups.
  std::string oom_counter_ = find_oom_counter();
  std::unique_ptr<LauncherLink> launcher_link_;  ///< empty: not started by a remote launcher
  bool launcher_reports_reason_ = false;
  std::optional<Outcome> outcome_;  ///< set once all other output is written
  HelperTask report_;
  std::optional<std::chrono::nanoseconds> init_time_;  ///< see `Outcome`
  std::string awaited_keys_;  ///< keys that ranks waited for in the store when this attempt was stopped
  bool has_finalized_ = false;
  bool is_exiting_now_ = false;
  DelayedCall slow_files_timer_;
  DelayedCall exit_log_timer_;  ///< logs pending work once the end has begun
  DelayedCall poll_timer_;
  DelayedCall log_flush_timer_;  ///< gives up log files after a second stop signal
};

}  // namespace muster
