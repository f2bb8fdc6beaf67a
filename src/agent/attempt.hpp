#pragma once

// One attempt: the workers of this node from their start until nothing of them is left. Turns what
// happens into events for the supervisor, and what it decides into system calls. Private to run/.

#include "agent/attempt_listener.hpp"
#include "agent/attempt_results.hpp"
#include "agent/run.hpp"
#include "agent/worker_files.hpp"
#include "agent/worker_starter.hpp"
#include "control/status.hpp"
#include "gang/events.hpp"
#include "output/worker_streams.hpp"
#include "process/descendants.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"
#include "process/sidecars.hpp"
#include "process/timers.hpp"
#include "process/workers.hpp"
#include "supervise/supervisor.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <csignal>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// What an attempt is given; everything outlives it.
struct AttemptInput {
  const RunOptions& options;
  const Inherited& inherited;
  const std::map<std::string, std::string>& variables;
  const std::string& marker;
  const std::string& log_folder;  ///< in front of the plan's log paths; empty: they are whole
  const std::string& run_folder;
  pid_t guard = -1;
  Sidecars& sidecars;
  HelperProcesses& helpers;
  const GuardSharedMemory& page;
  const std::string& oom_counter;  ///< a file; empty: there is none
};

/// Whatever wakes the loop adds events; `process` gives them to the supervisor one by one and carries
/// out what it answers. The callbacks are called from in between: they must not call back at once.
class Attempt {
 public:
  Attempt(boost::asio::io_context& io, const Sinks& sinks, const AttemptInput& input, LaunchPlan plan,
          std::unique_ptr<Services> services);

  /// The first failure of this node, as far as it is known at once.
  std::function<void(const Failure& failure)> on_failure;
  /// A worker that decides success ended with 0. Its `attempt` is not filled.
  std::function<void(const gang::Succeeded& succeeded)> on_success;
  /// Somebody else has asked the workers to end: Ctrl-C on the terminal, which does not reach us, or the guard.
  std::function<void(int signal)> on_asked;
  /// Nothing is alive, and what was written has been read. Consoles and files may not have taken it yet.
  std::function<void()> on_over;
  /// Nothing is alive. `on_over` follows.
  std::function<void()> on_gone = [] {};

  /// To be called before `start`. A listener outlives the attempt; its words come first.
  void add(AttemptListener& listener) { listeners_.push_back(&listener); }
  void start();

  /// Orders the workers to end, with at most so much of their grace, also if it runs already.
  void stop(int signal, const std::string& reason, std::optional<std::chrono::milliseconds> most_grace);
  /// Somebody outside wants the end: the first time asks the workers, the second one kills them.
  void request_stop(int signal);
  /// The job is to give way, or goes on after all: who ends now ends because of it. `signal`: by which the workers are told, if by
  /// one; their processes alone, since what helps them may end by it.
  void take_notice(bool is_withdrawn, std::optional<int> signal);
  /// Kills the workers at once.
  void kill();
  /// Passes a signal on that asks for no end.
  void pass_on(int signal);

  /// Takes note of workers that have ended. To be called before anything that depends on it.
  void poll_deaths();
  /// The same, and no failure waits for another one any more. To be called before anything ends the job.
  void act_on_failures();
  /// The nodes have brought something together.
  void on_merged(const gang::Value& value) { services_.on_merged(value); }
  /// Lines in the name of a worker.
  void write_as_worker(std::size_t worker, std::string_view lines) { streams_.write_as_worker(worker, lines); }

  /// To be called at SIGCHLD.
  void poll_stops();
  /// Waits for nothing any more. To be called before it is destroyed, which must happen in a later
  /// turn of the loop.
  void cancel();

  /// True when something could not be killed: it may still be alive.
  [[nodiscard]] bool gave_up() const { return supervisor_.conclusion().gave_up; }
  /// The rank of the living worker that this process is, or descends from; empty: of none.
  [[nodiscard]] std::optional<int> rank_of(pid_t pid) const;
  /// The same, and sends it a signal.
  std::optional<int> signal_process(pid_t pid, int signal);
  /// "ranks 0-3"; empty: nobody is alive.
  [[nodiscard]] std::vector<std::string> describe_living() const { return log_.describe_living(); }
  /// True when the console names the reason of the order to stop.
  [[nodiscard]] bool has_said_order() const { return log_.has_said_order(); }
  [[nodiscard]] const LaunchPlan& plan() const { return plan_; }
  /// For the control socket.
  [[nodiscard]] std::vector<control::WorkerStatus> describe_workers() const;
  [[nodiscard]] std::vector<WorkerResult> results() const { return results_of(view()); }
  /// Who failed on this node, with their last lines.
  [[nodiscard]] NodeFailures failures() const { return failures_of(view(), input_.options.host_name); }

 private:
  using Descriptor = boost::asio::posix::stream_descriptor;
  using ErrorCode = boost::system::error_code;

  void connect_parts();
  template <typename... Parameters, typename... Arguments>
  void notify(void (AttemptListener::*what)(Parameters...), const Arguments&... arguments) {
    for (AttemptListener* const listener : listeners_) {
      (listener->*what)(arguments...);
    }
  }

  // What wakes the loop.
  void wait_for_deaths();
  void on_deaths(const ErrorCode& error);
  void on_grace_ended();
  void on_kill_round(const std::vector<Process>& found, bool is_too_late);
  void on_output_end(std::size_t worker);
  void on_start_failure(const StartFailure& failure);
  void on_service_failure(const ServiceFailure& failure);
  void report_silent_workers();
  void check_orphans();
  void end_orphans(const std::vector<Process>& left);
  void give_up_waiting(const std::vector<Process>& left);
  void report_early_exits();

  // From what happened to events.
  void collect_deaths();
  void note(const std::vector<Death>& deaths);
  void note_death(const Death& death, const std::optional<StopSentByGuard>& guards);
  [[nodiscard]] bool is_answer(const Death& death, const StopSentByGuard& request) const;
  [[nodiscard]] std::optional<StopSentByGuard> stop_sent_by_guard() const;
  [[nodiscard]] bool is_failure_waiting() const;
  void process();
  void carry_out(const std::vector<Action>& actions);
  [[nodiscard]] bool is_nothing_left() const;
  [[nodiscard]] bool is_succeeding() const;
  [[nodiscard]] AttemptView view() const;

  // What the supervisor wants.
  void act(const StartWorkers& action);
  void act(const ReportFailure& action);
  void act(const ReportSuccess& action);
  void act(const CancelStart& action);
  void act(const SendStopSignal& action);
  void act(const StopOrphans& action);
  void act(const StartGrace& action);
  void act(const KillEverything& action);
  void act(const Finish& action);
  void rest();
  void finish();
  [[nodiscard]] std::set<pid_t> excluded() const;

  // Before the first start.
  [[nodiscard]] int prepare();  ///< how many things are waited for

  AttemptInput input_;
  LaunchPlan plan_;
  std::optional<std::size_t> reader_;  ///< of standard input
  WorkerStreams streams_;
  Supervisor supervisor_;
  Programs programs_;
  Workers workers_;
  Sweeper sweeper_;
  Terminal terminal_;
  ErrorFiles error_files_;
  WorkerStarter starter_;
  SuccessReports successes_;
  AttemptLog log_;
  AttemptServices services_;
  std::vector<AttemptListener*> listeners_;
  Descriptor deaths_;
  Grace grace_;
  KillLoop kill_loop_;
  DelayedCall ready_timer_;
  DelayedCall silence_timer_;
  DelayedCall orphan_timer_;
  DelayedCall pause_timer_;    ///< after TSTP
  Debounce failure_debounce_;  ///< after a failure that may be a consequence of another one
  OomKills oom_kills_;         ///< before the first worker
  EarlyServerExit early_server_exit_;
  RankOrphans left_by_ranks_;
  std::deque<Event> events_;
  bool is_asked_ = false;  ///< the workers are, by the terminal or the guard, and nobody else has been told yet
  bool has_heard_guard_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool has_asked_ = false;  ///< workers may have ended because we signalled them
  EndRequest request_{.signal = SIGTERM, .is_ordered = false, .order = {}, .grace = {}};
};

}  // namespace muster
