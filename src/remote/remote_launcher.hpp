#pragma once

// Runs the launcher of a job on other hosts: the remote shells that start its agents.

#include "agent/process_loop.hpp"
#include "agent/shutdown.hpp"
#include "agent/stop_timers.hpp"
#include "agent/worker_starter.hpp"
#include "agent/workers.hpp"
#include "base/control_lines.hpp"
#include "base/file_io.hpp"
#include "base/result.hpp"
#include "guard/guard.hpp"
#include "output/pipe_reader.hpp"
#include "plan/launch_plan.hpp"
#include "process/descendants.hpp"
#include "process/helper_process.hpp"
#include "process/inherited.hpp"
#include "remote/launcher_state.hpp"
#include "run/run_context.hpp"
#include "supervise/job_end.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Input of a remote launcher; vectors are by node rank.
struct RemoteJob {
  LaunchPlan plan;                            ///< a remote shell for each node
  std::vector<std::string> hosts;             ///< names of the nodes
  std::vector<std::string> orders;            ///< content of each agent's standard input: secret
  std::string nonce;                          ///< by which the agents' control lines are recognized
  std::chrono::milliseconds start_timeout{};  ///< until the first agent has come
};

/// The result of a remote launcher.
struct RemoteOutcome {
  std::optional<JobEnd> end;  ///< why the launcher ended the job; empty: the agents report it
  std::string report;         ///< of node 0, as JSON; empty: it sent none
  double run_time_seconds = 0;
};

/// The final steps, run once when all remote shells have ended: the remote launcher's ExitReport.
struct LauncherExitReport {
  std::function<Result<>(const RemoteOutcome&)> write_report;  ///< empty: no report is wanted
  std::optional<int> stream;
  std::function<void(const RemoteOutcome&, const Result<>& report)> say;
};

/// Starts the agents, forwards signals to them, shows their output, and returns the exit code of the job. Splits the
/// process into guard and agent, as `run` does.
[[nodiscard]] Result<int> run_remote_launcher(const RemoteJob& job, const RunOptions& options,
                                              const Inherited& inherited,
                                              const std::map<std::string, std::string>& variables,
                                              const LauncherExitReport& words);

/// Standard input of a remote shell, which leads to its agent. Never blocks: bytes that the pipe does not take are
/// queued. A closed reader is no error here, because the exit of the process is reported elsewhere.
class StdinPipe {
 public:
  explicit StdinPipe(boost::asio::io_context& io) : pipe_(io) {}

  /// Returns the read end for the process. Fails with `System`.
  [[nodiscard]] Result<UniqueFd> open();
  void write(std::string_view bytes);
  void close();

 private:
  void flush();

  boost::asio::posix::stream_descriptor pipe_;
  std::string queue_;
  bool waits_ = false;
};

// The event loop of the launcher's agent process, which owns the remote shells. `LauncherState` decides what to do.

/// Added to `--grace`: agents have their own grace, and need a moment more to kill processes.
inline constexpr std::chrono::seconds kMoreThanTheirGrace{10};

/// Input of the event loop; everything outlives it.
struct RemoteLauncherInput {
  const RemoteJob& job;
  const RunOptions& options;
  const Inherited& inherited;
  const std::map<std::string, std::string>& variables;
  const LauncherExitReport& words;
  const std::string& marker;
};

class RemoteLauncher : private LoopOwner, private ShutdownOwner, private StopTimersOwner {
 public:
  RemoteLauncher(const RemoteLauncherInput& input, GuardLink link);

  /// Runs to the end of the job and returns its exit code.
  int run();

 private:
  using ErrorCode = boost::system::error_code;

  // The start.
  void start_next();
  [[nodiscard]] Result<> start(std::size_t node);
  void on_control(std::size_t node, const std::string& kind, const std::string& text);
  StreamRoute make_route(std::size_t node, bool is_error);
  void drop_prefix(std::size_t node, bool is_error);

  // Events.
  void on_signal(int signal) override;
  void on_guard_lost() override;
  void on_grace_ended() override { carry_out(state_.on_grace_ended()); }
  void on_kill_round(const std::vector<Process>& found, bool is_too_late) override;
  void wait_for_deaths();
  void collect_deaths();
  void report_exits(bool is_final);
  void send_heartbeat();

  // Actions.
  void carry_out(const LauncherActions& actions);
  void act(const NotifyNodes& action);
  void act(const EndShells& action);
  void act(const StartLauncherGrace& action);
  void act(const TellLauncherGrace& action);
  void act(const WatchLateNodes& action);
  void act(const KillShells& action);
  void act(const FinishLauncher& action);
  std::function<Result<>()> conclude() override;
  void print_exit_report(const Result<>& report) override { input_.words.say(outcome_, report); }
  std::string last_line_of(std::size_t node) const;

  RemoteLauncherInput input_;
  ProcessLoop loop_;
  Shutdown shutdown_;
  PipeReader output_;
  LauncherState state_;
  Programs programs_;
  Workers shells_;
  Sweeper sweeper_;
  std::vector<std::unique_ptr<StdinPipe>> inputs_;  ///< one for each node whose start was tried
  std::map<std::size_t, ExitStatus> dead_;          ///< exits whose output is not read completely
  RemoteOutcome outcome_;
  boost::asio::posix::stream_descriptor deaths_;
  Grace grace_;
  KillLoop kill_loop_;
  DelayedCall last_bytes_timer_;
  Timer heartbeat_timer_;
  Timer silence_timer_;
  Timer late_nodes_timer_;
  Timer start_timer_;
};

}  // namespace muster
