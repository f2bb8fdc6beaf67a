#pragma once

// The agent's link to the remote launcher that started it. Reads frames until the launcher is gone.

#include "agent/process_loop.hpp"
#include "base/control_lines.hpp"
#include "base/frame.hpp"
#include "process/timer.hpp"
#include "run/run_options.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <string>

namespace muster {

class LauncherLink {
 public:
  /// Reads a copy of the seat's descriptor. The references outlive it.
  LauncherLink(ProcessLoop& loop, const LauncherInfo& seat);

  /// The launcher forwards a signal; to be handled as if we had got it.
  std::function<void(int signal)> on_signal;
  /// The launcher ends the job, and reports why.
  std::function<void()> on_end;
  /// The launcher is gone; `why` is a sentence that says how that was noticed. Called once, last.
  std::function<void(const std::string& why)> on_gone;

  /// Sends the hello line with this agent's version: from there on, the launcher takes the output as this agent's.
  void start(const std::string& version);

 private:
  using ErrorCode = boost::system::error_code;

  void cancel();
  void wait();
  void on_readable();
  void take(const Frame& frame);
  void watch_silence();
  void lose(const std::string& why);

  ProcessLoop& loop_;
  const LauncherInfo& seat_;
  boost::asio::posix::stream_descriptor words_;
  Timer silence_timer_;
  FrameReader reader_{kMostFrameBytes};
};

}  // namespace muster
