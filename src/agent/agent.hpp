#pragma once

// The agent: owns the running attempt and the link to the gang, and passes events between them and its event loop.
// Private to src/agent.

#include "agent/attempt.hpp"
#include "agent/evidence_keeper.hpp"
#include "agent/hang/hang_hook.hpp"
#include "agent/hang/hang_record.hpp"
#include "agent/job_control.hpp"
#include "agent/job_record.hpp"
#include "agent/launcher_link.hpp"
#include "agent/process_loop.hpp"
#include "agent/shutdown.hpp"
#include "agent/startup_exchange.hpp"
#include "agent/worker_files.hpp"
#include "exchange/startup_values.hpp"
#include "gang/gang.hpp"
#include "guard/guard.hpp"
#include "notices/notice_source.hpp"
#include "process/worker_port.hpp"
#include "run/run_context.hpp"
#include "services/named_pipe.hpp"
#include "services/service.hpp"
#include "services/torch_store/store_process.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Facts of a run, which stay the same in all its attempts.
struct RunFacts {
  /// Read once, before other nodes depend on this agent: the kernel delays the answer while anyone moves a process
  /// between control groups.
  std::string oom_counter;
};

class Agent : private gang::NodeActions,
              private AttemptOwner,
              private JobControlOwner,
              private LoopOwner,
              private ShutdownOwner,
              private LauncherLinkOwner,
              private ServiceHost,
              private NoticeSourceOwner {
 public:
  Agent(const RunContext& run, GuardLink link);

  /// Runs the job to its end and returns the exit code.
  int run();

 private:
  // Events of the loop.
  void before_signals() override;
  void on_signal(int signal) override;
  void on_guard_lost() override;

  void stop(int signal);
  void act_on_failures();

  // The remote launcher.
  void connect_launcher();
  void on_launcher_signal(int signal) override { on_signal(signal); }
  void on_launcher_end() override;
  void on_launcher_gone(const std::string& why) override;

  // Control socket and notices.
  [[nodiscard]] JobState job_state() const;
  void start_control();
  void notify(gang::NodeEvent event) override { gang_.notify(std::move(event)); }
  [[nodiscard]] control::NodeStatus describe_node() const override;
  void disregard_output(std::chrono::seconds time) override;
  [[nodiscard]] HangRecord& hang_record() override { return hang_record_; }
  [[nodiscard]] std::optional<std::string> name_process(pid_t pid) const override;
  [[nodiscard]] int rank_count() const override;
  [[nodiscard]] std::vector<ledger::RankState> rank_states() const;
  void add_recorder_environment(WorkerPlan& worker) const;
  void add_job_environment(LaunchPlan& plan, const gang::Start& start);
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
  void act(const gang::Hung& hung) override;
  void act(const gang::StallBegun& stall) override;
  void act(const gang::StatusQuery& wanted) override { control_.describe_status(wanted); }
  void act(const gang::StatusReport& status) override { control_.take_status(status); }
  void renew_lease(const gang::Lease& lease) override { loop_.heartbeats().renew(lease); }
  [[nodiscard]] Result<AttemptPorts> reserve_ports() override;
  void on_job_end(const JobEnd& end) override;
  void on_gang_closed() override;

  // Events of the attempt.
  void on_first_failure(const Failure& failure) override;
  void on_success(const gang::Succeeded& succeeded) override { gang_.notify(succeeded); }
  void on_workers_asked(int signal) override;
  void on_gone() override { gang_.notify(gang::WorkersGone{}); }
  void on_over() override;
  void record(ledger::Event event) override;

  // Requests of services.
  [[nodiscard]] Result<std::unique_ptr<Sidecar>> start_sidecar(const SidecarRequest& request,
                                                               SidecarEvents events) override {
    return sidecars_.start(request, std::move(events));
  }
  [[nodiscard]] Result<std::unique_ptr<NamedPipe>> open_pipe(const std::string& path, PipeOwner& owner) override {
    return muster::open_pipe(loop_.io(), path, owner);
  }
  [[nodiscard]] Result<> contribute(gang::Contributed value) override { return gang_.contribute(std::move(value)); }
  void write_as_worker(std::size_t worker, std::string_view lines) override {
    if (attempt_) {
      attempt_->write_as_worker(worker, lines);
    }
  }
  void run_later(std::function<void()> work) override { boost::asio::post(loop_.io(), std::move(work)); }
  void write_files(std::string what, HelperTask::Work work, HelperTask::Then then) override {
    service_files_.write(std::move(what), std::move(work), std::move(then));
  }
  void remove_files(HelperTask::Work work) override { service_files_.remove(std::move(work)); }
  [[nodiscard]] std::vector<gang::NodePlace> nodes() const override { return gang_.nodes(); }
  [[nodiscard]] std::optional<int> rank_of(std::uint32_t pid) const override {
    return attempt_ ? attempt_->rank_of(static_cast<pid_t>(pid)) : std::nullopt;
  }
  std::optional<int> signal_process(int pid, int signal) override {
    return attempt_ ? attempt_->signal_process(pid, signal) : std::nullopt;
  }
  void note_init(std::chrono::nanoseconds time) override {
    outcome_.init_seconds = std::chrono::duration<double>(time).count();
    record({.kind = ledger::Kind::RanksMet});
  }

  [[nodiscard]] LaunchPlan plan_of_attempt(const gang::Start& start, const gang::Exchanged& merged);
  void give_nccl_port(LaunchPlan& plan);
  void log_start_method(const AgreedMethod& method, const Placement& placement) const;
  void log_start(const LaunchPlan& plan, const std::string& interface) const;
  void report_attempt_over(std::optional<bool> made_progress);
  void keep_evidence();
  [[nodiscard]] std::string attempt_name() const;
  /// The path of a file that the plan names; empty: the job writes no files.
  [[nodiscard]] std::string log_file(const std::string& name) const;
  void watch_for_hangs();
  void retire_attempt();
  [[nodiscard]] std::unique_ptr<Services> make_services(const std::vector<std::string>& names);
  [[nodiscard]] bool ask_store(std::function<void(const std::string& keys)> then) override;
  void ask_who_waits();

  // End of the job: drained output and exit report.
  void report_suspended();
  void finalize();
  void note_source_done() override;
  [[nodiscard]] std::function<Result<>()> conclude() override;
  void print_exit_report(const Result<>& report) override;

  RunContext run_;
  ProcessLoop loop_;
  Shutdown shutdown_;
  JobRecord record_;
  FileProgress progress_;
  EvidenceKeeper evidence_;
  StoreProcess store_;
  Sidecars sidecars_;
  HangRecord hang_record_;
  HangHook hang_hook_;
  JobControl control_;
  std::optional<WorkerPort> nccl_port_;  ///< empty: not needed yet, or there is none
  std::vector<std::unique_ptr<NoticeSource>> notice_sources_;
  std::size_t pending_sources_ = 0;  ///< sources that have not yet reported the suspension
  gang::Gang gang_;
  StartupExchange startup_;
  ServiceFiles service_files_;
  std::unique_ptr<Attempt> attempt_;
  std::unique_ptr<Services> services_;  ///< of the attempt that the leader is about to start
  const RunFacts facts_;
  std::unique_ptr<LauncherLink> launcher_link_;  ///< empty: not started by a remote launcher
  Outcome outcome_;  ///< filled in as the job goes on; `notices` has the keys that ranks waited for in the store
};

}  // namespace muster
