#pragma once

// The agent: one event loop that turns what happens into events for the supervisor, and what the
// supervisor decides into system calls. Private to run/.

#include "sweeper.hpp"
#include "terminal.hpp"
#include "worker_streams.hpp"
#include "workers.hpp"

#include <muster/run/guard.hpp>
#include <muster/run/run.hpp>
#include <muster/supervise/supervisor.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace muster {

/// What the agent is given; everything outlives it.
struct JobInput {
  const LaunchPlan& plan;
  const RunOptions& options;
  const Inherited& inherited;
  const std::map<std::string, std::string>& variables;
  const std::function<void(const Outcome&)>& conclude;
  const std::string& marker;
  const std::string& log_folder;  ///< in front of the plan's log paths; empty: they are whole
};

/// Owns everything for the time of the loop. Whatever wakes the loop adds events; `process` gives
/// them to the supervisor one by one and carries out what it answers.
class Job {
 public:
  Job(const JobInput& input, GuardLink link);

  /// Runs the job to its end and returns the exit code.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  using Descriptor = boost::asio::posix::stream_descriptor;
  using ErrorCode = boost::system::error_code;

  // What wakes the loop.
  void wait_for(Descriptor& descriptor, void (Job::*handler)(const ErrorCode&));
  void on_deaths(const ErrorCode& error);
  void on_signals(const ErrorCode& error);
  void on_guard_lost(const ErrorCode& error);
  void on_grace_ended(const ErrorCode& error);
  void on_kill_round(const ErrorCode& error);
  void on_closed_pipes(const ErrorCode& error);
  void on_progress(const ErrorCode& error);
  void on_start_turn();
  void on_output_end(std::size_t worker);

  // From what happened to events.
  void collect_deaths();
  void take_signal(int signal);
  void request_stop(int signal);
  void process();
  void carry_out(const std::vector<Action>& actions);
  [[nodiscard]] bool is_nothing_left() const;

  // What the supervisor wants.
  void act(const StartWorkers& action);
  void act(const CancelStart& action);
  void act(const AskToEnd& action);
  void act(const EndLeftovers& action);
  void act(const StartGrace& action);
  void act(const KillEverything& action);
  void act(const Finish& action);

  // The start of a worker.
  [[nodiscard]] Result<> start_worker(std::size_t worker);
  [[nodiscard]] Result<> write_planned_files() const;

  // What the user should know.
  [[nodiscard]] std::string describe_worker(std::size_t worker) const;
  [[nodiscard]] std::vector<int> living_ranks() const;
  [[nodiscard]] std::string describe_failure(std::size_t worker) const;
  void say_why_it_stops() const;
  void say_what_is_left(const std::vector<Process>& left);
  void say_who_was_stopped();
  void say_who_is_overdue() const;

  // The end.
  void conclude();
  void leave();
  void hurry();
  [[nodiscard]] Outcome make_outcome();

  JobInput input_;
  GuardLink link_;
  boost::asio::io_context io_{1};
  WorkerStreams streams_;
  Supervisor supervisor_;
  Workers workers_;
  Sweeper sweeper_;
  Terminal terminal_;
  Descriptor deaths_;
  Descriptor signals_;
  Descriptor lifeline_;
  boost::asio::steady_timer grace_timer_;
  boost::asio::steady_timer kill_timer_;
  boost::asio::steady_timer progress_timer_;
  boost::asio::steady_timer closed_pipes_timer_;
  UniqueFd null_input_;
  std::deque<Event> events_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point kill_deadline_{};
  Clock::time_point last_stop_request_{};
  std::size_t next_to_start_ = 0;
  bool start_was_cancelled_ = false;
  bool leftovers_were_said_ = false;
  bool is_concluded_ = false;
  bool closed_pipes_check_runs_ = false;
  int asked_with_ = SIGTERM;  ///< the signal with which the workers were asked to end
  std::optional<std::size_t> unstartable_;
  std::string start_error_;
  std::set<std::size_t> said_closed_pipes_;
};

}  // namespace muster
