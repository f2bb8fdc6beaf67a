#pragma once

// The agent: owns the running attempt and the link to the gang, and passes events between them and its event loop.
// Private to src/agent.

#include "agent/attempt.hpp"
#include "agent/evidence_keeper.hpp"
#include "agent/head_start.hpp"
#include "agent/job_control.hpp"
#include "agent/job_record.hpp"
#include "agent/launcher_link.hpp"
#include "agent/node_preflight.hpp"
#include "agent/process_loop.hpp"
#include "agent/service_requests.hpp"
#include "agent/shutdown.hpp"
#include "agent/startup_exchange.hpp"
#include "agent/status_reporter.hpp"
#include "agent/suspend_requests.hpp"
#include "agent/worker_files.hpp"
#include "gang/gang.hpp"
#include "guard/guard.hpp"
#include "run/run_context.hpp"

#include <functional>
#include <memory>

namespace muster {

class Agent : private gang::NodeActions, private AttemptOwner, private LoopOwner, private ShutdownOwner {
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
  std::unique_ptr<LauncherLink> connect_launcher();
  void fill_caches();

  // Requests of the gang.
  void act(const gang::StartAttempt& wanted) override;
  void act(const gang::Value& exchanged) override;
  void act(const gang::StopAttempt& stop) override;
  void act(const gang::PassSignal& wanted) override;
  void act(const gang::KillAttempt& /*wanted*/) override { attempt_->kill(); }
  void act(const gang::SuspendNotice& notice) override;
  void act(const gang::Hung& hung) override;
  void act(const gang::StallBegun& stall) override;
  void act(const gang::StatusQuery& wanted) override;
  void act(const gang::StatusReport& status) override { control_.take_status(status); }
  void act(const gang::KeepBadNode& wanted) override { preflight_.keep(wanted); }
  void renew_lease(const gang::Lease& lease) override { loop_.heartbeats().renew(lease); }
  [[nodiscard]] Result<AttemptPorts> reserve_ports() override { return services_.prepare(); }
  void on_job_end(const JobEnd& end) override;
  void on_gang_closed() override;

  // Events of the attempt.
  void on_first_failure(const Failure& failure) override;
  void on_success(const gang::Succeeded& succeeded) override { gang_.notify(succeeded); }
  void on_workers_asked(int signal) override;
  void on_gone() override { gang_.notify(gang::WorkersGone{}); }
  void on_over() override;
  void record(ledger::Event event) override;
  void ask_who_waits();
  void keep_evidence();

  // End of the job: drained output and exit report.
  void finalize();
  void finalize_evidence();
  std::function<Result<>()> conclude() override;
  void print_exit_report(const Result<>& report) override;

  /// Keeps what remains of the job: its events, its progress, and evidence of a failure.
  struct Records {
    JobRecord events;
    FileProgress progress;
    EvidenceKeeper evidence;
  };

  RunContext run_;
  ProcessLoop loop_;
  Shutdown shutdown_;
  Records records_;
  gang::Gang gang_;
  StartupExchange startup_;
  ServiceRequests services_;
  StatusReporter reporter_;
  NodePreflight preflight_;
  JobControl control_;
  SuspendRequests suspend_requests_;
  HeadStart head_start_;
  std::unique_ptr<Attempt> attempt_;  ///< null: none has started
  Outcome outcome_;  ///< filled in as the job goes on; `notices` has the keys that ranks waited for in the store
};

}  // namespace muster
