#pragma once

// One attempt: this node's workers from their start until no process of them is left. Turns what happens into events
// for the supervisor, and its decisions into system calls. Private to src/agent.

#include "agent/attempt_log.hpp"
#include "agent/attempt_parts.hpp"
#include "agent/attempt_results.hpp"
#include "agent/hang/call_watch.hpp"
#include "agent/stop_sequence.hpp"
#include "agent/worker_starter.hpp"
#include "agent/workers.hpp"
#include "gang/events.hpp"
#include "ledger/ledger.hpp"
#include "output/worker_streams.hpp"
#include "process/timers.hpp"
#include "supervise/supervisor.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The owner of an attempt: observes it, and must not call it back at once.
class AttemptOwner {
 public:
  virtual ~AttemptOwner() = default;

  /// This node's first failure, as far as it is known at once.
  virtual void on_first_failure(const Failure& failure) = 0;
  /// A worker whose success counts for the job has exited with 0. The owner fills in `attempt`.
  virtual void on_success(const gang::Succeeded& succeeded) = 0;
  /// The workers got a stop signal that the agent did not send: the guard's, or Ctrl-C, which does not reach us.
  virtual void on_workers_asked(int signal) = 0;
  /// No process is left. `on_over` follows.
  virtual void on_gone() = 0;
  /// No process is left, and all output has been read. Consoles and files may not have taken it yet.
  virtual void on_over() = 0;
  /// Records an event for the time ledger. The owner fills in node and attempt, and the ledger its times.
  virtual void record(ledger::Event event) = 0;
};

/// Runs one attempt on this node. Handlers of the event loop queue events; `process` passes them to the supervisor
/// one by one, and carries out the actions with which the supervisor answers.
class Attempt {
 public:
  Attempt(AttemptOwner& owner, const AttemptInput& input, OutputQueues& queues, LaunchPlan plan,
          std::unique_ptr<Services> services);

  void start();

  /// Sends the workers the stop signal, by order of the gang; `most_grace` limits their grace, even if it has begun.
  void stop(int signal, const std::string& reason, std::optional<std::chrono::milliseconds> most_grace);
  /// Takes a stop request: the first one sends the workers its signal, and a later INT or QUIT sends SIGKILL.
  void request_stop(int signal) { handle(StopRequested{signal}); }
  /// Takes a notice of suspension, or its withdrawal. A worker that ends after a notice is taken to end because of
  /// it. `signal`, if set, goes only to the main processes of the workers, because their helpers may die of it. True:
  /// a process got it.
  bool take_notice(bool is_withdrawn, std::optional<int> signal);
  /// Fails the attempt if ranks that hang run on this node: these get SIGABRT.
  void end_hung(const gang::Hung& hung);
  /// Sends the workers SIGKILL at once.
  void kill();
  /// Forwards a signal that is not a stop request.
  void pass_on(int signal);

  /// Reaps workers that have ended. To be called before anything that depends on which workers are alive.
  void poll_deaths();
  /// Reaps workers and processes failures now, without the debounce. To be called before anything ends the job.
  void act_on_failures();
  /// The nodes have completed an exchanged value.
  void on_merged(const gang::Value& value) { services_->on_merged(value); }
  /// Prints lines as a worker's output.
  void write_as_worker(std::size_t worker, std::string_view lines) { streams_.write_as_worker(worker, lines); }

  /// To be called on SIGCHLD: also handles stopped workers.
  void poll_stops();
  /// Cancels all waits. To be called before destruction, which must happen in a later turn of the loop.
  void cancel();

  /// The rank of the living worker that is `pid` or an ancestor of it; empty: none.
  std::optional<int> rank_of(pid_t pid) const;
  /// Sends a signal to a process that is a living worker or below one, and returns the rank of this worker; empty: it is none.
  std::optional<int> signal_process(pid_t pid, int signal);
  /// "ranks 0-3"; empty: no worker is alive.
  std::vector<std::string> describe_living() const { return log_.describe_living(); }
  /// True if this node has logged the reason of the order to stop.
  bool has_logged_order() const { return log_.has_logged_order(); }
  const LaunchPlan& plan() const { return plan_; }
  /// For this time, lines of the workers do not count as their own output, because muster has made them write
  /// (`describe_workers`).
  void disregard_output(std::chrono::seconds time) {
    streams_.disregard_output_until(std::chrono::steady_clock::now() + time);
  }
  const AttemptResults& results() const { return results_; }
  /// No worker of this node has failed, and nobody has ordered the end.
  bool has_succeeded() const;

 private:
  using Descriptor = boost::asio::posix::stream_descriptor;
  using ErrorCode = boost::system::error_code;

  // Handlers of the event loop.
  void wait_for_deaths();
  void on_output_end(std::size_t worker);
  void on_service_failure(const ServiceFailure& failure);
  void report_closed_outputs();
  void on_too_long_call(const CallWatch::Found& found);
  void report_early_exits();

  // Turning what happened into events.
  void collect_deaths();
  void note(const std::vector<Death>& deaths);
  void note_death(const Death& death, const std::optional<StopSentByGuard>& guards);
  void record(ledger::Event event, std::size_t worker);
  bool is_failure_waiting() const;
  void handle(const Event& event);
  void process();
  void carry_out(const Action& action);

  void rest();
  void finish();

  AttemptOwner& owner_;
  LaunchPlan plan_;
  WorkerStreams streams_;
  Supervisor supervisor_;
  Workers workers_;
  std::unique_ptr<Services> services_;
  StartPreparation preparation_;
  WorkerStarter starter_;
  Successes successes_;
  AttemptResults results_;
  AttemptLog log_;
  StopSequence stop_;
  CallWatch calls_;
  Descriptor deaths_;
  DelayedCall silence_timer_;
  DelayedCall pause_timer_;    ///< after SIGTSTP: stops workers that have not stopped
  Debounce failure_debounce_;  ///< runs after a failure that may be a consequence of another one
  std::deque<Event> events_;
  bool has_unreported_stop_ = false;  ///< terminal or guard have signalled the workers, and the gang does not know
};

}  // namespace muster
