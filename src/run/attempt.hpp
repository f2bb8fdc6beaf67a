#pragma once

// One attempt: the workers of this node from their start until nothing of them is left. Turns what
// happens into events for the supervisor, and what it decides into system calls. Private to run/.

#include "output/consoles.hpp"
#include "output/worker_streams.hpp"
#include "process/sweeper.hpp"
#include "process/terminal.hpp"
#include "process/workers.hpp"

#include <muster/gang/events.hpp>
#include <muster/run/run.hpp>
#include <muster/service/service.hpp>
#include <muster/supervise/supervisor.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace muster {

/// What an attempt is given; everything outlives it.
struct AttemptInput {
  const RunOptions& options;
  const Inherited& inherited;
  const std::map<std::string, std::string>& variables;
  const std::string& marker;
  const std::string& log_folder;  ///< in front of the plan's log paths; empty: they are whole
  pid_t guard = -1;
};

/// Whatever wakes the loop adds events; `process` gives them to the supervisor one by one and carries
/// out what it answers. The callbacks are called from in between: they must not call back at once.
class Attempt {
 public:
  Attempt(boost::asio::io_context& io,
          Consoles& consoles,
          const AttemptInput& input,
          LaunchPlan plan,
          std::unique_ptr<Services> services);

  /// The first failure of this node, as far as it is known at once.
  std::function<void(const Failure& failure)> on_failure;
  /// A worker that decides success ended with 0. Its `attempt` is not filled.
  std::function<void(const gang::Succeeded& succeeded)> on_success;
  /// Ctrl-C on the terminal reached a worker, and not us.
  std::function<void()> on_interrupt;
  /// Nothing is alive, and what was written has been read.
  std::function<void()> on_over;

  void start();

  /// Orders the workers to end, with at most so much of their grace, also if it runs already.
  void stop(int signal,
            const std::string& reason,
            std::optional<std::chrono::milliseconds> most_grace);
  /// Somebody outside wants the end: the first time asks the workers, the second one kills them.
  void request_stop(int signal);
  /// Kills the workers at once.
  void kill();
  /// Passes a signal on that asks for no end.
  void pass_on(int signal);

  /// Takes note of workers that have ended. To be called before anything that depends on it.
  void look_for_deaths();
  /// To be called at SIGCHLD.
  void look_for_stops();
  /// True when the last process has ended, and only a slow console keeps the attempt from being over.
  [[nodiscard]] bool waits_for_console() const { return waits_for_console_ && !is_over_; }
  /// Looks again whether it is over, such as when the consoles have been abandoned.
  void finish();
  /// Waits for nothing any more. To be called before it is destroyed, which must happen in a later
  /// turn of the loop.
  void cancel();

  /// True when something could not be killed: it may still be alive.
  [[nodiscard]] bool gave_up() const { return supervisor_.conclusion().gave_up; }
  [[nodiscard]] const LaunchPlan& plan() const { return plan_; }
  [[nodiscard]] std::vector<WorkerResult> results() const;
  /// The first failure of this node with its last lines; empty if there was none.
  [[nodiscard]] std::optional<Failure> failure() const;
  [[nodiscard]] std::vector<std::string> describe_missing() const {
    return streams_.describe_missing();
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Descriptor = boost::asio::posix::stream_descriptor;
  using ErrorCode = boost::system::error_code;

  // What wakes the loop.
  void wait_for_deaths();
  void on_deaths(const ErrorCode& error);
  void on_grace_ended(const ErrorCode& error);
  void on_kill_round(const ErrorCode& error);
  void on_closed_pipes(const ErrorCode& error);
  void on_progress(const ErrorCode& error);
  void on_start_turn();
  void on_output_end(std::size_t worker);

  // From what happened to events.
  void collect_deaths();
  void process();
  void carry_out(const std::vector<Action>& actions);
  [[nodiscard]] bool is_nothing_left() const;

  // What the supervisor wants.
  void act(const StartWorkers& action);
  void act(const TellFailure& action);
  void act(const TellSuccess& action);
  void act(const CancelStart& action);
  void act(const AskToEnd& action);
  void act(const EndLeftovers& action);
  void act(const StartGrace& action);
  void act(const KillEverything& action);
  void act(const Finish& action);
  void shorten_grace(std::chrono::milliseconds most);

  // The start of a worker.
  [[nodiscard]] Result<> start_worker(std::size_t worker);
  [[nodiscard]] std::optional<std::size_t> reader_of_input() const;
  void remove_old_error_files() const;

  // What the user should know: attempt_words.cpp.
  [[nodiscard]] std::string describe_worker(std::size_t worker) const;
  [[nodiscard]] std::vector<int> living_ranks() const;
  [[nodiscard]] std::string describe_failure(std::size_t worker) const;
  void say_why_it_stops() const;
  void say_death(const Death& death) const;
  void say_memory_refusal();
  void say_what_is_left(const std::vector<Process>& left);
  void say_who_was_stopped();
  void say_who_is_overdue() const;
  void say_who_is_awaited() const;

  boost::asio::io_context& io_;
  AttemptInput input_;
  LaunchPlan plan_;
  std::unique_ptr<Services> services_;
  WorkerStreams streams_;
  Supervisor supervisor_;
  Workers workers_;
  Sweeper sweeper_;
  Terminal terminal_;
  Descriptor deaths_;
  boost::asio::steady_timer grace_timer_;
  boost::asio::steady_timer kill_timer_;
  boost::asio::steady_timer progress_timer_;
  boost::asio::steady_timer closed_pipes_timer_;
  UniqueFd null_input_;
  std::deque<Event> events_;
  std::chrono::milliseconds grace_;
  Clock::time_point kill_deadline_{};
  std::size_t next_to_start_ = 0;
  bool start_was_cancelled_ = false;
  bool leftovers_were_said_ = false;
  bool closed_pipes_check_runs_ = false;
  bool success_was_told_ = false;
  bool waits_for_console_ = false;
  bool grace_runs_ = false;
  bool is_over_ = false;
  int asked_with_ = SIGTERM;  ///< the signal with which the workers were asked to end
  std::string order_;         ///< why they were ordered to end
  std::optional<std::size_t> unstartable_;
  std::string start_error_;
  bool said_memory_refusal_ = false;
  std::set<std::size_t> said_closed_pipes_;
};

}  // namespace muster
