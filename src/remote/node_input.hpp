#pragma once

// Standard input of a remote shell, which leads to the agent on the other host. Private to run/.

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <string>
#include <string_view>

namespace muster {

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

}  // namespace muster
