#pragma once

// The agent: one event loop that turns what happens into events for the supervisor, and what the
// supervisor decides into system calls. Private to run/.

#include "console.hpp"
#include "output.hpp"
#include "run_folder.hpp"
#include "sweeper.hpp"
#include "worker_port.hpp"
#include "workers.hpp"

#include <muster/run/guard.hpp>
#include <muster/run/run.hpp>
#include <muster/supervise/supervisor.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
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
  const std::string& run_folder;           ///< empty: none could be made
  const std::optional<WorkerPort>& port;   ///< empty: the plan names one
};

/// Owns everything for the time of the loop.
class Job {
 public:
  Job(const JobInput& input, GuardLink link);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Runs the job to its end and returns the exit code.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  using Descriptor = boost::asio::posix::stream_descriptor;

  // What woke the loop.
  void wait_for_deaths();
  void wait_for_signals();
  void wait_for_guard();
  void on_deaths();
  void look_for_earlier_failure(const Death& death);
  void on_signals();
  void on_signal(int signal);
  void on_output_end(std::size_t worker);
  void on_kill_timer();

  // What the supervisor wants.
  void handle(const Event& event);
  void carry_out(const std::vector<Action>& actions);
  void act(const StartWorkers& action);
  void act(const CancelStart& action);
  void act(const AskToEnd& action);
  void act(const EndLeftovers& action);
  void act(const StartGrace& action);
  void act(const KillEverything& action);
  void act(const Finish& action);

  void start_next();
  [[nodiscard]] Result<> start_worker(std::size_t worker);
  [[nodiscard]] Result<> connect(std::size_t worker, UniqueFd out, UniqueFd err);
  [[nodiscard]] Result<StreamRoute> make_route(std::size_t worker, bool is_error) const;
  [[nodiscard]] std::string prefix_of(std::size_t worker, bool is_error) const;
  [[nodiscard]] int standard_input_of(std::size_t worker) const;
  [[nodiscard]] int terminal_for(std::size_t worker) const;

  void set_up_consoles();
  void set_up_terminal();
  [[nodiscard]] Result<> write_planned_files() const;
  void look_for_stopped_workers();
  void remark_closed_pipes();
  void remark_overdue_workers();
  void check_whether_nothing_is_left();
  void try_to_conclude();
  [[nodiscard]] std::vector<Console*> consoles() const;
  /// True when every console is settled; else comes back to `next` when one of them is.
  [[nodiscard]] bool are_consoles_settled(void (Job::*next)());
  void end_when_settled();
  void give_terminal_back() const;
  [[nodiscard]] Outcome make_outcome();
  [[nodiscard]] std::string describe_worker(std::size_t worker) const;

  JobInput input_;
  GuardLink link_;
  boost::asio::io_context io_{1};
  Supervisor supervisor_;
  Workers workers_;
  Sweeper sweeper_;
  std::unique_ptr<Console> error_console_;
  std::unique_ptr<Console> out_console_;  ///< empty when both streams are the same file
  Output output_;
  Descriptor deaths_;
  Descriptor signals_;
  Descriptor lifeline_;
  boost::asio::steady_timer grace_timer_;
  boost::asio::steady_timer kill_timer_;
  boost::asio::steady_timer closed_pipes_timer_;
  UniqueFd null_input_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point kill_deadline_{};
  std::size_t next_to_start_ = 0;
  bool start_was_cancelled_ = false;
  bool closed_pipes_check_runs_ = false;
  bool is_output_closed_ = false;
  bool is_concluded_ = false;
  bool leftovers_were_said_ = false;
  int terminal_ = -1;          ///< the controlling terminal, if one worker is to have it
  int asked_with_ = 0;         ///< the signal with which the workers were asked to end
  std::string log_dir_;
  std::optional<std::size_t> unstartable_;
  std::string start_error_;
  std::set<std::size_t> said_closed_pipes_;
};

}  // namespace muster
