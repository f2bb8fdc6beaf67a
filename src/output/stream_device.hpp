#pragma once

// Standard output or standard error, when it is a terminal, a pipe, a socket or a device. Private to run/.

#include "output/device.hpp"

#include "base/unique_fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <memory>

namespace muster {

/// The descriptor that others share is never switched to non-blocking: a pipe or terminal is opened anew, a
/// socket is sent to without waiting.
class NonblockingFd final : public ByteSink {
 public:
  NonblockingFd(boost::asio::io_context& io, int fd);

  [[nodiscard]] ssize_t write_some(std::string_view bytes) override;
  void when_ready(std::function<void()> then) override;
  [[nodiscard]] int failure() const override { return failure_; }
  void stop_waiting() override;

 private:
  enum class Kind {
    Direct,
    NonBlocking,
    Socket,
    Cautious
  };

  void open(int fd, bool is_socket);
  [[nodiscard]] bool watch(UniqueFd fd);

  Kind kind_ = Kind::Direct;
  bool is_terminal_ = false;
  int failure_ = 0;
  UniqueFd own_fd_;     ///< opened anew, or a copy of the descriptor; written to
  int direct_fd_ = -1;  ///< never waits for a reader, and is written to at once; not owned
  /// An epoll set that holds only `own_fd_`. Asio would switch what it waits for to non-blocking,
  /// which a descriptor that is shared with others must not be; switching the set harms nobody.
  boost::asio::posix::stream_descriptor writable_;
};

}  // namespace muster
