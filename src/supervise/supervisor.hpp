#pragma once

// Decides what to do when something happens to this node's workers, and how much time a notice leaves them. Pure.

#include "supervise/exit_status.hpp"
#include "supervise/job_end.hpp"

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace muster {

/// Time between SIGTERM and SIGKILL for workers that have had their time to save.
inline constexpr std::chrono::milliseconds kLastGrace{1'000};

/// Time that workers get to save. The platform kills `limit` after its notice, and muster's SIGKILL comes before.
std::chrono::milliseconds time_to_save(std::chrono::milliseconds limit);

// Events. A worker is its index in the plan (its local rank).

struct WorkerEnded {
  std::size_t worker = 0;
  ExitStatus status = ExitStatus::exited(0);
  bool exited_before_stop = false;  ///< it had ended, or could no longer react, before any worker got a stop signal
  bool failed_with_exit_0 = false;  ///< it failed although it exited with 0
};
/// The process could not be created or the program could not be executed.
struct WorkerNotStarted {
  std::size_t worker = 0;
  int exit_code = 71;
};
/// A service that the workers need has failed.
struct ServiceFailed {
  int exit_code = 71;
};
/// A worker that hangs has been sent the signal that ends it.
struct WorkerHung {
  std::size_t worker = 0;
  int exit_code = 86;
};
/// A signal from outside that stops the job has reached muster.
struct StopRequested {
  int signal = 0;
};
/// A notice: the job is to give way, and workers that end now end because of it.
struct NoticeGiven {
  std::optional<int> signal;  ///< the signal that workers got; empty: they were told by a file
};
/// The notice is withdrawn: the job goes on.
struct NoticeWithdrawn {};
/// The job ends or restarts: something happened on another node, or all deciding workers have succeeded.
struct StopOrdered {
  int signal = 15;
};
/// The grace between SIGTERM and SIGKILL is over.
struct GraceEnded {};
/// The guard process is gone: everything must end now, without a grace.
struct GuardLost {};
/// All workers have ended and no process of the job is left.
struct NothingLeft {};
/// Killed processes did not disappear in time (such as one in an uninterruptible system call).
struct GaveUpWaiting {};

using Event = std::variant<WorkerEnded, WorkerNotStarted, ServiceFailed, WorkerHung, StopRequested, NoticeGiven,
                           NoticeWithdrawn, StopOrdered, GraceEnded, GuardLost, NothingLeft, GaveUpWaiting>;

// Actions.

struct StartWorkers {};
/// Report the first failure on this node to the job.
struct ReportFailure {
  std::optional<std::size_t> worker;  ///< empty: a service
};
/// Report to the job that a deciding worker exited with 0, or (empty) that this node has none.
struct ReportSuccess {
  std::optional<std::size_t> worker;
  bool is_last = false;  ///< all deciding workers of this node have
};
/// Do not start the workers that have not been started yet.
struct CancelStart {};
/// Send the signal to each worker's programs, and to what ended workers have left behind.
struct SendStopSignal {
  int signal = 0;
};
/// All workers have ended: send the stop signal to their orphans, and watch for NothingLeft.
struct StopOrphans {};
struct StartGrace {};
/// A request to end that changes nothing: say how much of the grace is left.
struct TellGrace {
  int signal = 0;
  bool is_repeated = true;  ///< false: the job was ending for another reason before the first request
};
/// Send SIGKILL to every process of the job until none is left; after a limit: GaveUpWaiting.
struct KillEverything {};
struct Finish {};

using Action = std::variant<StartWorkers, ReportFailure, ReportSuccess, CancelStart, SendStopSignal, StopOrphans,
                            StartGrace, TellGrace, KillEverything, Finish>;

enum class WorkerOutcome {
  NeverStarted,
  Running,
  Succeeded,
  Failed,   ///< ended badly, and not by a signal of muster
  Stopped,  ///< ended after muster had asked it to
};

/// True for a worker that was asked to end, and ended with an error code of its own: it may not have saved.
bool erred_when_asked(WorkerOutcome outcome, const std::optional<ExitStatus>& status);

/// The outcome of the attempt as far as this node knows; the outcome of the job is a JobEnd.
struct AttemptOutcome {
  Verdict verdict = Verdict::Succeeded;
  int exit_code = 0;
  std::optional<std::size_t> first_failure;  ///< empty: a service, or none
  std::optional<int> stop_signal;            ///< the signal from outside that ended the job
  bool gave_up = false;                      ///< some process could not be killed
};

/// Decides what to do when something happens to this node's workers.
///
/// It holds no pid, opens nothing and never reads a clock: the event loop passes it events and executes the actions
/// that it returns. That is what lets its tests run a whole day of crashes in a microsecond. docs/architecture.md has
/// the picture. There is one grace from the first stop signal until SIGKILL, on every path.
class Supervisor {
 public:
  /// `decides_success[i]`: worker i must exit with 0 for the job to succeed. When all deciding workers of the job
  /// have done so, the others are ordered to stop.
  explicit Supervisor(std::vector<bool> decides_success);

  std::vector<Action> start();
  std::vector<Action> on(const Event& event);

  /// True as long as no worker has failed and nothing has asked the job to end.
  bool is_running_normally() const { return state_ == State::Running || state_ == State::Sweeping; }
  bool is_finished() const { return state_ == State::Finished; }
  bool has_living_workers() const { return alive_ > 0; }
  /// The workers were told to save, and may end by themselves.
  bool has_notice() const { return has_notice_; }
  AttemptOutcome conclusion() const;
  WorkerOutcome outcome(std::size_t worker) const { return outcomes_[worker]; }
  /// The failed workers, in the order in which they ended. `exited_before_stop` is set for the first failure, and for
  /// those so soon after it that no stop signal had been sent.
  const std::vector<WorkerEnded>& failed() const { return failed_; }
  /// Exit status of a worker; empty while it runs or when it never started.
  std::optional<ExitStatus> status(std::size_t worker) const { return statuses_[worker]; }

 private:
  enum class State {
    Running,
    Stopping,
    Sweeping,
    Killing,
    Finished
  };

  std::vector<Action> handle(const WorkerEnded& ended);
  std::vector<Action> handle(const WorkerNotStarted& failed);
  std::vector<Action> handle(const ServiceFailed& failed);
  std::vector<Action> handle(const WorkerHung& hung);
  std::vector<Action> handle(const StopRequested& request);
  std::vector<Action> handle(const NoticeGiven& notice);
  std::vector<Action> handle(const NoticeWithdrawn& withdrawn);
  std::vector<Action> handle(const StopOrdered& order);
  std::vector<Action> handle(const GraceEnded& ended);
  std::vector<Action> handle(const GuardLost& lost);
  std::vector<Action> handle(const NothingLeft& nothing);
  std::vector<Action> handle(const GaveUpWaiting& gave_up);

  WorkerOutcome outcome_in_stop(const WorkerEnded& ended) const;
  void note_failure(std::optional<std::size_t> worker, int exit_code);
  std::vector<Action> fail(std::optional<std::size_t> worker, int exit_code);
  std::vector<Action> send_stop_signal(int signal);
  std::vector<Action> after_an_end();
  std::vector<Action> kill();
  bool all_deciding_succeeded() const;

  std::vector<bool> decides_success_;
  std::vector<WorkerOutcome> outcomes_;
  std::vector<std::optional<ExitStatus>> statuses_;
  std::vector<WorkerEnded> failed_;
  std::set<int> sent_signals_;  ///< a worker that ends by one of them was stopped
  std::size_t alive_ = 0;       ///< started or about to be, and not ended
  State state_ = State::Running;
  bool grace_runs_ = false;
  int exit_code_ = 0;  ///< of the first failure
  bool has_stop_request_ = false;
  bool has_notice_ = false;
  bool notice_has_signal_ = false;
  bool has_failed_ = false;
  std::optional<std::size_t> first_failure_;
  std::optional<int> stop_signal_;
  bool gave_up_ = false;
};

}  // namespace muster
