#pragma once

// The agent's link to the remote launcher that started it. Reads frames until the launcher is gone.

#include "base/control_lines.hpp"
#include "base/frame.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <string>

namespace muster {

/// The owner of a link.
class LauncherLinkOwner {
 public:
  virtual ~LauncherLinkOwner() = default;

  /// The launcher forwards a signal; to be handled as if we had got it.
  virtual void on_launcher_signal(int signal) = 0;
  /// The launcher ends the job, and reports why.
  virtual void on_launcher_end() = 0;
  /// The launcher is gone; `why` is a sentence that says how that was noticed. Called once, last.
  virtual void on_launcher_gone(const std::string& why) = 0;
};

class LauncherLink {
 public:
  /// Reads a copy of `fd`, which stays the caller's.
  LauncherLink(LauncherLinkOwner& owner, boost::asio::io_context& io, int fd);

  void start();
  void cancel();

 private:
  using ErrorCode = boost::system::error_code;

  void wait();
  void on_readable();
  void take(const Frame& frame);
  void watch_silence();
  void lose(const std::string& why);

  LauncherLinkOwner& owner_;
  boost::asio::posix::stream_descriptor words_;
  Timer silence_timer_;
  FrameReader reader_{kMostFrameBytes};
};

}  // namespace muster
