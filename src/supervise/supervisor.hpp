#pragma once

// How much time a notice leaves to the workers. Pure.

#include "supervise/exit_status.hpp"
#include "supervise/job_end.hpp"

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace muster {

/// Between asking the workers to end, when their time to save is over, and killing them.
inline constexpr std::chrono::milliseconds kLastGrace{1'000};

/// What the workers have of a platform's time: it kills `limit` after its notice, and our kill comes before.
[[nodiscard]] std::chrono::milliseconds time_to_save(std::chrono::milliseconds limit);

// What can happen. A worker is meant by its place in the plan (its local rank).

struct WorkerEnded {
  std::size_t worker = 0;
  ExitStatus status = ExitStatus::exited(0);
  bool exited_before_stop = false;  ///< dead, or past answering, before anybody was asked to end
  bool failed_with_exit_0 = false;  ///< it has failed, although it ended with 0
};
/// The process could not be made or the program could not be executed.
struct WorkerNotStarted {
  std::size_t worker = 0;
  int exit_code = 71;
};
/// Something that runs beside the workers, and that they need, cannot go on.
struct ServiceFailed {
  int exit_code = 71;
};
/// Somebody outside wants the job to end: a signal that asks for it reached muster.
struct StopRequested {
  int signal = 0;
};
/// The job is to give way: who ends now ends because of it.
struct NoticeGiven {
  std::optional<int> signal;  ///< by which the workers were told; empty: by a file
};
/// The job goes on after all.
struct NoticeWithdrawn {};
/// The job ends or starts anew: something happened on another node, or all that decide are done.
struct StopOrdered {
  int signal = 15;
};
/// The grace between asking to end and killing is over.
struct GraceEnded {};
/// The other half of muster is gone: there is no time for grace.
struct GuardLost {};
/// All workers have ended and no process of the job is left.
struct NothingLeft {};
/// What was killed did not disappear in time (a process in an uninterruptible system call).
struct GaveUpWaiting {};

using Event = std::variant<WorkerEnded, WorkerNotStarted, ServiceFailed, StopRequested, NoticeGiven, NoticeWithdrawn,
                           StopOrdered, GraceEnded, GuardLost, NothingLeft, GaveUpWaiting>;

// What to do about it.

struct StartWorkers {};
/// Tell the job who failed first on this node.
struct ReportFailure {
  std::optional<std::size_t> worker;  ///< empty: a service
};
/// Tell the job that a worker that decides ended with 0, or (empty) that there is none here.
struct ReportSuccess {
  std::optional<std::size_t> worker;
  bool is_last = false;  ///< all of this node that decide have
};
/// Do not start those workers that have not been started yet.
struct CancelStart {};
/// Send the signal to each worker's group, and to what ended workers left behind.
struct SendStopSignal {
  int signal = 0;
};
/// All workers have ended: ask what they left behind to end, and watch for NothingLeft.
struct StopOrphans {};
struct StartGrace {};
/// KILL to every process of the job until none is left, with a limit: GaveUpWaiting.
struct KillEverything {};
struct Finish {};

using Action = std::variant<StartWorkers, ReportFailure, ReportSuccess, CancelStart, SendStopSignal, StopOrphans,
                            StartGrace, KillEverything, Finish>;

enum class WorkerOutcome {
  NeverStarted,
  Running,
  Succeeded,
  Failed,   ///< it ended badly, and no signal of ours was the reason
  Stopped,  ///< it ended after muster had asked it to
};

/// A worker that failed.
struct FailedWorker {
  std::size_t worker = 0;
  bool exited_before_stop = false;  ///< the first failure, or so soon after it that nobody had been asked to end
};

/// What became of the attempt as far as this node knows; what became of the job is a JobEnd.
struct AttemptOutcome {
  Verdict verdict = Verdict::Succeeded;
  int exit_code = 0;
  std::optional<std::size_t> first_failure;  ///< worker that failed first; empty: a service, or none
  std::optional<int> stop_signal;            ///< the signal from outside that ended the job
  bool gave_up = false;                      ///< something could not be killed
};

/// Decides what to do when something happens to this node's workers.
///
/// It holds no pid, opens nothing and never looks at a clock: the event loop tells it what
/// happened, and carries out what it returns. That is what lets its tests run a whole day of
/// crashes in a microsecond.
/// docs/architecture.md has the picture. There is one grace from the first request to end until the kill, on
/// every path.
class Supervisor {
 public:
  /// `decides_success[i]` tells whether worker i must end with 0 for the job to succeed. When all
  /// deciding workers of the job have, the others are ordered to stop.
  explicit Supervisor(std::vector<bool> decides_success);

  [[nodiscard]] std::vector<Action> start();
  [[nodiscard]] std::vector<Action> on(const Event& event);

  /// True as long as no worker has failed and nobody has asked the job to end.
  [[nodiscard]] bool is_running_normally() const { return state_ == State::Running || state_ == State::Sweeping; }
  [[nodiscard]] bool is_finished() const { return state_ == State::Finished; }
  [[nodiscard]] bool has_living_workers() const { return alive_ > 0; }
  [[nodiscard]] AttemptOutcome conclusion() const;
  [[nodiscard]] WorkerOutcome outcome(std::size_t worker) const { return outcomes_[worker]; }
  /// Those that failed, as they ended.
  [[nodiscard]] const std::vector<FailedWorker>& failed() const { return failed_; }
  /// How a worker ended; empty while it runs or when it never started.
  [[nodiscard]] std::optional<ExitStatus> status(std::size_t worker) const { return statuses_[worker]; }

 private:
  enum class State {
    Running,
    Stopping,
    Sweeping,
    Killing,
    Finished
  };

  [[nodiscard]] std::vector<Action> handle(const WorkerEnded& ended);
  [[nodiscard]] std::vector<Action> handle(const WorkerNotStarted& failed);
  [[nodiscard]] std::vector<Action> handle(const ServiceFailed& failed);
  [[nodiscard]] std::vector<Action> handle(const StopRequested& request);
  [[nodiscard]] std::vector<Action> handle(const NoticeGiven& notice);
  [[nodiscard]] std::vector<Action> handle(const NoticeWithdrawn& withdrawn);
  [[nodiscard]] std::vector<Action> handle(const StopOrdered& order);
  [[nodiscard]] std::vector<Action> handle(const GraceEnded& ended);
  [[nodiscard]] std::vector<Action> handle(const GuardLost& lost);
  [[nodiscard]] std::vector<Action> handle(const NothingLeft& nothing);
  [[nodiscard]] std::vector<Action> handle(const GaveUpWaiting& gave_up);

  [[nodiscard]] WorkerOutcome outcome_in_stop(const WorkerEnded& ended) const;
  void note_failure(std::optional<std::size_t> worker, int exit_code);
  [[nodiscard]] std::vector<Action> fail(std::optional<std::size_t> worker, int exit_code);
  [[nodiscard]] std::vector<Action> send_stop_signal(int signal);
  [[nodiscard]] std::vector<Action> after_an_end();
  [[nodiscard]] std::vector<Action> kill();
  [[nodiscard]] bool all_deciding_succeeded() const;

  std::vector<bool> decides_success_;
  std::vector<WorkerOutcome> outcomes_;
  std::vector<std::optional<ExitStatus>> statuses_;
  std::vector<FailedWorker> failed_;
  std::set<int> sent_signals_;  ///< who ends by one of them was stopped
  std::size_t alive_ = 0;       ///< started or about to be, and not ended
  State state_ = State::Running;
  bool grace_runs_ = false;
  int exit_code_ = 0;  ///< of the first failure
  int stop_debounce_ = 0;
  bool has_notice_ = false;
  bool is_told_by_signal_ = false;
  bool has_failed_ = false;
  std::optional<std::size_t> first_failure_;
  std::optional<int> stop_signal_;
  bool gave_up_ = false;
};

}  // namespace muster
