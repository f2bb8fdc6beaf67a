#pragma once

// What the front of the job says to this agent, which it has started. Private to run/.

#include "remote/frames.hpp"
#include "agent/run.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <string>

namespace muster {

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
