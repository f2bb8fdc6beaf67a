#pragma once

// Runs the front of a job: the remote shells that start its agents on other hosts.

#include "agent/run.hpp"
#include "agent/worker_starter.hpp"
#include "base/file_io.hpp"
#include "base/result.hpp"
#include "guard/guard.hpp"
#include "output/consoles.hpp"
#include "output/pipe_reader.hpp"
#include "plan/launch_plan.hpp"
#include "process/descendants.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"
#include "process/timers.hpp"
#include "process/workers.hpp"
#include "remote/control_lines.hpp"
#include "remote/launcher_state.hpp"
#include "supervise/job_end.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Everything that a front runs with, by node rank.
struct RemoteJob {
  LaunchPlan plan;                  ///< a remote shell for each node
  std::vector<std::string> hosts;   ///< how the nodes are called
  std::vector<std::string> orders;  ///< what the agents get on standard input: secret
  std::string nonce;                ///< by which their words are known
};

/// What became of it.
struct RemoteOutcome {
  std::optional<JobEnd> end;  ///< why the front ended the job; empty: the agents have said it
  std::string report;         ///< of node 0, as JSON; empty: it sent none
  double run_time_seconds = 0;
};

/// What is done once, when nothing is left of the remote shells: as ExitReport of a node.
struct LauncherExitReport {
  std::function<Result<>(const RemoteOutcome&)> write_report;  ///< empty: none is wanted
  std::optional<int> stream;
  std::function<void(const RemoteOutcome&, const Result<>& report)> say;
};

/// Starts the agents, passes signals on to them, shows what they write, and returns the exit code of the
/// job. Splits the process into guard and agent, as `run` does.
[[nodiscard]] Result<int> run_remote_launcher(const RemoteJob& job, const RunOptions& options,
                                              const Inherited& inherited,
                                              const std::map<std::string, std::string>& variables,
                                              const LauncherExitReport& words);

// Standard input of a remote shell, which leads to the agent on the other host.

/// Writes without waiting: what the pipe does not take is kept until it does. When its reader is gone
/// that is no error here: whoever waits for the process hears of it.
class StdinPipe {
 public:
  explicit StdinPipe(boost::asio::io_context& io) : pipe_(io) {}

  /// The end for the process. Fails with `System`.
  [[nodiscard]] Result<UniqueFd> open();
  void write(std::string_view bytes);
  void close();

 private:
  void flush();

  boost::asio::posix::stream_descriptor pipe_;
  std::string queue_;
  bool waits_ = false;
};

// The front's half that works: owns the event loop and the remote shells. What to do about what
// happens, `Front` decides.

/// Agents have their own grace, and what they have to kill takes them a moment more.
inline constexpr std::chrono::seconds kMoreThanTheirGrace{10};

/// What it is given; everything outlives it.
struct RemoteLauncherInput {
  const RemoteJob& job;
  const RunOptions& options;
  const Inherited& inherited;
  const std::map<std::string, std::string>& variables;
  const LauncherExitReport& words;
  const std::string& marker;
};

class RemoteLauncher {
 public:
  RemoteLauncher(const RemoteLauncherInput& input, GuardLink link);

  /// Runs to the end of the job and returns its exit code.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  using Descriptor = boost::asio::posix::stream_descriptor;
  using ErrorCode = boost::system::error_code;

  // The start.
  void start_next();
  [[nodiscard]] Result<> start(std::size_t node);
  void add_streams(std::size_t node, StreamEnds ends);
  void on_word(std::size_t node, const std::string& kind, const std::string& text);
  [[nodiscard]] StreamRoute make_route(std::size_t node, bool is_error);
  void drop_prefix(std::size_t node, bool is_error);

  // What wakes the loop.
  void wait_for(Descriptor& descriptor, void (RemoteLauncher::*handler)(const ErrorCode&));
  void on_signals(const ErrorCode& error);
  void on_guard_lost(const ErrorCode& error);
  void on_deaths(const ErrorCode& error);
  void take_signal(int signal);
  void collect_deaths();
  void report_exits(bool is_last_look);
  void send_heartbeat();

  // What is to be done.
  void carry_out(const LauncherActions& actions);
  void act(const NotifyNodes& action);
  void act(const EndShells& action);
  void act(const StartLauncherGrace& action);
  void act(const KillShells& action);
  void act(const FinishLauncher& action);
  void finish();
  void finalize();
  void print_exit_report(const Result<>& report);
  [[nodiscard]] std::string last_line_of(std::size_t node) const;

  RemoteLauncherInput input_;
  GuardLink link_;
  boost::asio::io_context io_{1};
  HelperProcesses helpers_;
  Consoles consoles_;
  DrainDeadline drain_deadline_;
  PipeReader output_;
  LauncherState state_;
  Programs programs_;
  Workers shells_;
  Sweeper sweeper_;
  std::vector<std::unique_ptr<StdinPipe>> inputs_;
  std::map<std::size_t, ExitStatus> dead_;  ///< of which not everything has been read
  std::string report_;
  std::optional<RemoteOutcome> outcome_;  ///< once it is being told
  HelperTask writing_;                    ///< the report
  Descriptor signals_;
  Descriptor lifeline_;
  Descriptor deaths_;
  boost::asio::steady_timer alive_;
  Grace grace_;
  KillLoop kill_loop_;
  DelayedCall log_flush_timer_;
  SignalDebounce stop_debounce_;
  HeartbeatSender heartbeat_sender_;
  Clock::time_point started_ = Clock::now();
  std::size_t next_ = 0;  ///< the node that is started next
  bool is_ending_ = false;
  bool is_concluded_ = false;
  bool is_over_ = false;
};

// What the front of the job says to this agent, which it has started.

class LauncherLink {
 public:
  /// `fd` stays the caller's: a copy is read.
  LauncherLink(boost::asio::io_context& io, int fd);

  /// As if the signal had been sent to us.
  std::function<void(int signal)> on_signal;
  /// The front ends the job, and says why.
  std::function<void()> on_end;
  /// Nobody is there any more: the sentence says how that was noticed. Nothing follows.
  std::function<void(const std::string& why)> on_gone;

  void start();
  void cancel();

 private:
  using ErrorCode = boost::system::error_code;

  void wait();
  void on_readable();
  void take(const Frame& frame);
  void watch_silence();
  void lose(const std::string& why);

  boost::asio::posix::stream_descriptor words_;
  boost::asio::steady_timer silence_;
  FrameReader reader_;
};

}  // namespace muster
