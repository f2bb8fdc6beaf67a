// Reads signals and watches the guard, for the agent and for the remote launcher.
#include "agent/process_loop.hpp"

#include "base/log.hpp"
#include "base/signals.hpp"
#include "process/guarantees.hpp"
#include "supervise/exit_status.hpp"

#include <utility>

namespace muster {

ProcessLoop::ProcessLoop(GuardLink link, const RunOptions& options, const Inherited& inherited, LoopOwner& owner)
    : link_(std::move(link)),
      options_(options),
      ignored_signals_(inherited.ignored_signals),
      owner_(owner),
      helpers_(link_.page),
      queues_(io_, helpers_, options.console_stall),
      signals_(io_),
      lifeline_(io_),
      heartbeat_sender_(io_, link_) {}

void ProcessLoop::start() {
  signals_.assign(open_signalfd(handled_signals(options_.stop_signals.all())));
  lifeline_.assign(link_.lifeline.release());
  lifeline_.async_wait(Descriptor::wait_read, [this](const ErrorCode& error) {
    if (!error) {
      heartbeat_sender_.continue_alone();
      owner_.on_guard_lost();
    }
  });
  wait_for_signals();
  heartbeat_sender_.listen();
}

void ProcessLoop::wait_for_signals() {
  signals_.async_wait(Descriptor::wait_read, [this](const ErrorCode& error) {
    if (error) {
      return;
    }
    owner_.before_signals();
    for (const int signal : read_signals(signals_.native_handle())) {
      owner_.on_signal(signal);
    }
    wait_for_signals();
  });
}

bool ProcessLoop::is_new_stop(int signal) {
  if (signal == guard_stop_signal_) {
    guard_stop_signal_ = 0;
    return false;
  }
  if (ignored_signals_.contains(signal)) {
    // HUP is ignored in silence, which is what nohup is for. Who sends INT or QUIT expects an end.
    if (is_from_keyboard(signal) && !std::exchange(has_logged_ignored_, true)) {
      log_info(signal_name(signal) +
               " has no effect: it was ignored when muster was started, as a shell does for a job in the background; "
               "SIGTERM or 'muster stop' ends the job");
    }
    return false;
  }
  if (!stop_debounce_.is_new(signal)) {
    return false;
  }
  ++stops_;
  heartbeat_sender_.start_heartbeats();
  return true;
}

bool ProcessLoop::ends_drain(int signal) const {
  return stops_ <= 1 || is_from_keyboard(signal);
}

void ProcessLoop::note_stop_of_workers(int signal) {
  if (link_.page.stop_sent_by_guard()) {
    heartbeat_sender_.start_heartbeats();
    (void)stop_debounce_.is_new(signal);
    ++stops_;
    guard_stop_signal_ = signal;
  }
}

double ProcessLoop::run_time_seconds() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

}  // namespace muster
