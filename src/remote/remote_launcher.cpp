// Runs the event loop of the remote launcher: passes events of remote shells to `LauncherState` and executes its
// actions; and, in an agent, the link to its launcher.
#include "remote/remote_launcher.hpp"

#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace muster {
namespace {

/// Grace for agents that were told to end at once.
constexpr std::chrono::seconds kShortGrace{5};
/// Time after which the nodes whose agent has not come are named.
constexpr std::chrono::seconds kSilence{10};
/// Time after the first orderly end of an agent, after which the nodes whose agent has not ended are named.
constexpr std::chrono::seconds kLateEnd{3};
/// Time for the last output of a remote shell to arrive, unless another process holds its pipe open.
constexpr std::chrono::milliseconds kLastBytes{500};

}  // namespace

RemoteLauncher::RemoteLauncher(const RemoteLauncherInput& input, GuardLink link)
    : input_(input),
      loop_(std::move(link), input.options, input.inherited, *this),
      shutdown_(loop_, *this, input.words.stream),
      output_(loop_.io(), input.job.hosts.size(), loop_.queues()),
      state_(input.job.hosts),
      programs_(loop_.io(), loop_.helpers(), input.job.plan, input.variables),
      shells_(input.job.plan, input.inherited, InheritedEnvironment{input.variables, input.marker}),
      sweeper_(::getpid()),
      deaths_(loop_.io(), ::fcntl(shells_.reaper().ready_fd(), F_DUPFD_CLOEXEC, 3)),
      grace_(*this, loop_.io(), input.options.grace + kMoreThanTheirGrace),
      kill_loop_(*this, loop_.io(), shells_, sweeper_, [this] { return loop_.helpers().pids(); }),
      last_bytes_timer_(loop_.io(), kLastBytes, [this] { report_exits(/*is_final=*/true); }),
      heartbeat_timer_(loop_.io()),
      silence_timer_(loop_.io()),
      late_nodes_timer_(loop_.io()),
      start_timer_(loop_.io()) {
  output_.on_end = [this](std::size_t /*node*/) {
    boost::asio::post(loop_.io(), [this] { report_exits(/*is_final=*/false); });
  };
}

int RemoteLauncher::run() {
  for (const std::string& notice : input_.job.plan.notices) {
    log_info(notice);
  }
  loop_.start();
  wait_for_deaths();
  const auto start = std::bind_front(&RemoteLauncher::start_next, this);
  if (programs_.find(start)) {
    boost::asio::post(loop_.io(), start);
  }
  send_heartbeat();
  // A remote shell may hang: in a name, a connection, a login, or a file system there.
  silence_timer_.start(kSilence, [this] {
    if (const std::string missing = state_.describe_missing(); !missing.empty() && !state_.is_ending()) {
      log_warning("no answer after " + format_seconds(std::chrono::duration<double>(kSilence).count()) + " s from " +
                  missing + "; waiting for their remote shells");
    }
  });
  start_timer_.start(input_.job.start_timeout, [this] { carry_out(state_.on_start_timeout()); });
  shutdown_.run();
  return state_.exit_code();
}

void RemoteLauncher::on_kill_round(const std::vector<Process>& found, bool is_too_late) {
  collect_deaths();
  if (is_too_late && !found.empty()) {
    log_error("could not kill " + describe_processes(found) + "; leaving it behind");
    act(FinishLauncher{});
  }
}

// --- The start ----------------------------------------------------------------------------------

/// Starts one remote shell in each turn of the loop, as workers are started.
void RemoteLauncher::start_next() {
  if (inputs_.size() == input_.job.hosts.size()) {
    return;
  }
  const std::size_t node = inputs_.size();
  inputs_.push_back(std::make_unique<StdinPipe>(loop_.io()));
  const auto started = state_.is_ending() ? Result<>(Error{ErrorKind::System, "the job ends"}) : start(node);
  if (!started) {
    carry_out(state_.on_not_started(node, started.error()));
  }
  boost::asio::post(loop_.io(), std::bind_front(&RemoteLauncher::start_next, this));
}

Result<> RemoteLauncher::start(std::size_t node) {
  const Result<std::string>& program = programs_.of(node);
  if (!program) {
    return program.error();
  }
  StdinPipe& input = *inputs_[node];
  auto read_end = TRY(input.open());
  const auto connect = [&](StreamEnds ends) {
    output_.add(std::move(ends.out), make_route(node, /*is_error=*/false));
    output_.add(std::move(ends.error), make_route(node, /*is_error=*/true));
    return Result<>();
  };
  auto started = shells_.start(node, {.executable = *program,
                                      .standard_input = read_end.get(),
                                      .output = {},  // the agent's control lines come over one of the streams
                                      .connect = connect});
  if (started) {
    input.write(input_.job.orders[node]);
  }
  return started;
}

/// Until the agent runs, lines come from the remote shell and the login, and get the node as prefix. The agent's own
/// lines name their node and rank. The agent has made them harmless for a terminal, but the host may not be ours.
StreamRoute RemoteLauncher::make_route(std::size_t node, bool is_error) {
  StreamRoute route;
  route.worker = node;
  route.is_error = is_error;
  route.console = is_error ? &loop_.queues().error() : &loop_.queues().out();
  route.framer.set_prefix("[" + input_.job.hosts[node] + "] ");
  if (route.console->is_terminal()) {
    route.framer.sanitize_lines(/*are_marked=*/true);
  }
  route.control_filter = std::make_unique<ControlLineFilter>(input_.job.nonce);
  route.control_filter->on_control = [this, node, is_error](const std::string& kind, const std::string& text) {
    if (kind == kHello) {
      drop_prefix(node, is_error);
    }
    on_control(node, kind, text);
  };
  return route;
}

void RemoteLauncher::drop_prefix(std::size_t node, bool is_error) {
  output_.change_routes(node, [&](StreamRoute& route) {
    if (route.is_error == is_error) {
      route.framer.set_prefix("");
    }
  });
}

void RemoteLauncher::on_control(std::size_t node, const std::string& kind, const std::string& text) {
  if (kind == kHello) {
    state_.on_here(node);
  } else if (kind == kReportLine) {
    outcome_.report = text;
  } else if (kind == kExit) {
    constexpr int kMostCode = 255;
    state_.on_bye(node, parse_integer(text, 0, kMostCode).value_or(1));
  }
}

// --- Events -------------------------------------------------------------------------------------

void RemoteLauncher::on_signal(int signal) {
  if (signal == SIGCHLD) {
    collect_deaths();  // old kernels have no pidfd that would report exits
    return;
  }
  if (signal == SIGWINCH) {
    return;  // no process there has a window
  }
  if (!input_.options.stop_signals.contains(signal)) {
    carry_out({NotifyNodes{{kSignalFrame, signal_name(signal)}}});
    return;
  }
  if (!loop_.is_new_stop(signal)) {
    return;
  }
  if (shutdown_.has_begun()) {
    if (loop_.ends_drain(signal)) {
      shutdown_.exit_now();
    }
    return;
  }
  if (!state_.is_ending()) {
    log_info(signal_name(signal) + " received: passing it on to " + count_of(input_.job.hosts.size(), "node"));
  }
  if (inputs_.empty()) {  // nothing is started any more; each node is reported as not started
    programs_.cancel();
    boost::asio::post(loop_.io(), std::bind_front(&RemoteLauncher::start_next, this));
  }
  carry_out(state_.on_stop(signal));
}

void RemoteLauncher::on_guard_lost() {
  log_error("the guard (pid " + std::to_string(loop_.guard()) +
            ") was killed: killing the remote shells, which ends the job");
  carry_out(state_.on_guard_lost());
}

void RemoteLauncher::wait_for_deaths() {
  deaths_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const ErrorCode& error) {
    if (!error) {
      collect_deaths();
      wait_for_deaths();
    }
  });
}

void RemoteLauncher::collect_deaths() {
  for (const Death& death : shells_.reaper().collect()) {
    shells_.note_end(death);
    inputs_[death.worker]->close();
    dead_.emplace(death.worker, death.status);
    last_bytes_timer_.ask();
  }
  report_exits(/*is_final=*/false);
}

/// Reports ended remote shells, once their output is read: the agent's last control line may still be in a pipe.
void RemoteLauncher::report_exits(bool is_final) {
  for (auto at = dead_.begin(); at != dead_.end();) {
    const auto [node, status] = *at;
    if (!output_.has_ended(node) && (!is_final || output_.waits_for_console(node))) {
      ++at;
      continue;
    }
    at = dead_.erase(at);
    carry_out(state_.on_ended(node, status, last_line_of(node)));
  }
  if (is_final && !dead_.empty()) {
    last_bytes_timer_.ask();
  }
}

std::string RemoteLauncher::last_line_of(std::size_t node) const {
  const std::vector<std::string> lines = output_.last_lines(node);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (const std::string_view words = trim(*line); !words.empty()) {
      return std::string(words);
    }
  }
  return {};
}

/// Sends heartbeats: an agent that receives none takes the launcher for gone.
void RemoteLauncher::send_heartbeat() {
  heartbeat_timer_.start(kAliveInterval, [this] {
    act(NotifyNodes{{kAliveFrame}});
    send_heartbeat();
  });
}

// --- Actions ------------------------------------------------------------------------------------

void RemoteLauncher::carry_out(const LauncherActions& actions) {
  for (const LauncherAction& action : actions) {
    std::visit([this](const auto& wanted) { act(wanted); }, action);
  }
}

void RemoteLauncher::act(const NotifyNodes& action) {
  const std::string bytes = write_frame(action.frame);
  for (const auto& input : inputs_) {
    input->write(bytes);
  }
}

void RemoteLauncher::act(const EndShells& action) {
  for (const std::size_t node : action.nodes) {
    if (node < inputs_.size()) {
      shells_.signal(node, SIGTERM);
    }
  }
}

void RemoteLauncher::act(const StartLauncherGrace& action) {
  if (action.is_failure) {
    log_error(state_.end()->reason + (action.is_of_all ? "; ending the remote shells" : "; ending the other nodes"));
  }
  if (action.is_short) {
    grace_.shorten(kShortGrace);
  }
  grace_.start();
}

void RemoteLauncher::act(const TellLauncherGrace& /*action*/) {
  const auto left = std::max<std::chrono::duration<double>>(grace_.left() - kMoreThanTheirGrace, {});
  log_info("asked to end again: the processes that were asked to end keep their time, " + format_seconds(left.count()) +
           " s left; SIGINT (Ctrl-C) kills now");
}

/// The remote shell itself finds out that its host does not answer, which may take half a minute.
void RemoteLauncher::act(const WatchLateNodes& /*action*/) {
  late_nodes_timer_.start(kLateEnd, [this] {
    if (const std::string late = state_.describe_late(); !late.empty()) {
      log_warning("the job is over; waiting for the remote shell to " + late);
    }
  });
}

void RemoteLauncher::act(const KillShells& /*action*/) {
  grace_.cancel();
  kill_loop_.start();
}

void RemoteLauncher::act(const FinishLauncher& /*action*/) {
  grace_.cancel();
  kill_loop_.cancel();
  last_bytes_timer_.cancel();
  heartbeat_timer_.cancel();
  silence_timer_.cancel();
  late_nodes_timer_.cancel();
  start_timer_.cancel();
  output_.close();
  shutdown_.begin(state_.is_ending() ? kShortTimeout : input_.options.console_stall);
  boost::asio::post(loop_.io(), [this] { shutdown_.finalize(); });  // this turn may still log
}

std::function<Result<>()> RemoteLauncher::conclude() {
  outcome_.end = state_.end();
  outcome_.run_time_seconds = loop_.run_time_seconds();
  const bool is_known = outcome_.end || !outcome_.report.empty();
  const auto& write = input_.words.write_report;
  return is_known && write ? std::bind_front(std::cref(write), std::cref(outcome_)) : std::function<Result<>()>();
}

// Writes to a remote shell's standard input, whose reader may be slow or gone.

Result<UniqueFd> StdinPipe::open() {
  auto pipe = TRY(make_pipe());
  (void)::fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK);  // the write end is ours alone
  pipe_.assign(pipe.write.release());
  return std::move(pipe.read);
}

void StdinPipe::write(std::string_view bytes) {
  if (pipe_.is_open()) {
    queue_ += bytes;
    flush();
  }
}

void StdinPipe::flush() {
  while (!queue_.empty()) {
    const ssize_t taken = ::write(pipe_.native_handle(), queue_.data(), queue_.size());
    if (taken > 0) {
      queue_.erase(0, static_cast<std::size_t>(taken));
    } else if (taken < 0 && errno == EAGAIN) {
      break;
    } else if (taken < 0 && errno != EINTR) {
      close();
      return;
    }
  }
  if (queue_.empty() || waits_) {
    return;
  }
  waits_ = true;
  pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_write, [this](const boost::system::error_code& error) {
    waits_ = false;
    if (!error) {
      flush();
    }
  });
}

void StdinPipe::close() {
  queue_.clear();
  boost::system::error_code ignored;  // bytes that are left have no reader
  pipe_.close(ignored);
}

// Splits the launcher into guard and agent, as every muster.

Result<int> run_remote_launcher(const RemoteJob& job, const RunOptions& options, const Inherited& inherited,
                                const std::map<std::string, std::string>& variables, const LauncherExitReport& words) {
  const std::string marker = TRY(make_marker());
  const GuardSetup setup{marker, options.stop_signals.all(), inherited.ignored_signals,
                         options.grace + kMoreThanTheirGrace};
  return run_guarded(setup, [&](GuardLink link) {
    const RemoteLauncherInput input{job, options, inherited, variables, words, marker};
    return RemoteLauncher(input, std::move(link)).run();
  });
}

}  // namespace muster
