#pragma once

// The front's half that works: owns the event loop and the remote shells. What to do about what
// happens, `Front` decides. Private to run/.

#include "process/errand.hpp"
#include "output/consoles.hpp"
#include "output/last_call.hpp"
#include "output/output.hpp"
#include "guard/guard.hpp"
#include "process/sweeper.hpp"
#include "process/workers.hpp"
#include "agent/programs.hpp"
#include "guard/signs_of_life.hpp"
#include "process/stop_requests.hpp"
#include "process/timers.hpp"
#include "remote/node_input.hpp"

#include "remote/launcher_state.hpp"
#include "remote/front.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

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
  [[nodiscard]] std::string last_words_of(std::size_t node) const;

  RemoteLauncherInput input_;
  GuardLink link_;
  boost::asio::io_context io_{1};
  HelperProcesses helpers_;
  Consoles consoles_;
  DrainDeadline drain_deadline_;
  PipeReader output_;
  LauncherState front_;
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
  KillLoop kill_rounds_;
  DelayedCall log_flush_timer_;
  SignalDebounce stop_debounce_;
  HeartbeatSender heartbeat_sender_;
  Clock::time_point started_ = Clock::now();
  std::size_t next_ = 0;  ///< the node that is started next
  bool is_ending_ = false;
  bool is_concluded_ = false;
  bool is_over_ = false;
};

}  // namespace muster
