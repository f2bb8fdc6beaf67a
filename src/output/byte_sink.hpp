#pragma once

// Declares the interface of output devices, the one for standard output and error, and window sizes of terminals.

#include "base/file_io.hpp"
#include "output/lossy_file.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace muster {

/// Gives bytes to a sink, and is called back about them.
class SinkOwner {
 public:
  virtual ~SinkOwner() = default;

  /// The sink can take bytes again, has failed, or has written all bytes.
  virtual void on_ready() = 0;
  /// Bytes that were taken are lost, or the file can be written again. The sink goes on taking bytes.
  virtual void on_loss(const FileLoss& /*loss*/) {}
};

/// Takes bytes without ever making the caller wait.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  /// Returns the number of bytes taken; -1 with errno when none, EAGAIN when none for now.
  virtual ssize_t write_some(std::string_view bytes) = 0;
  /// Calls `on_ready` once, at the next change. `owner` outlives the sink.
  virtual void when_ready(SinkOwner& owner) = 0;
  /// Calls `on_loss` from now on. `owner` outlives the sink.
  virtual void report_losses_to(SinkOwner& /*owner*/) {}

  /// Processes pending messages about the bytes that were taken.
  virtual void catch_up() {}
  /// True when all bytes that were taken have reached their destination.
  virtual bool has_written_all() const { return true; }
  /// Bytes that have reached their destination; grows as long as the file system responds.
  virtual std::uint64_t progress() const { return 0; }
  /// The errno of a failure that was found after the bytes had been taken; 0: none.
  virtual int failure() const { return 0; }
  /// True for a file, whose file system may hang for any time.
  virtual bool is_file() const { return false; }

  /// Cancels `when_ready`. Later bytes are taken only if that is possible at once.
  virtual void stop_waiting() = 0;
  /// Stops taking bytes. Returns the number of lines that were taken but not written.
  virtual std::uint64_t give_up() { return 0; }
};

/// Standard output or standard error that is a terminal, a pipe, a socket or a device. The descriptor is shared, so
/// it is never switched to non-blocking: a pipe or terminal is opened anew, a socket gets MSG_DONTWAIT.
class NonblockingFd final : public ByteSink {
 public:
  NonblockingFd(boost::asio::io_context& io, int fd);

  ssize_t write_some(std::string_view bytes) override;
  void when_ready(SinkOwner& owner) override;
  void report_losses_to(SinkOwner& owner) override { losses_to_ = &owner; }
  int failure() const override { return failure_; }
  void stop_waiting() override;

 private:
  enum class Kind {
    Direct,
    NonBlocking,
    Socket,
    Cautious
  };

  void open(int fd, bool is_socket);
  bool watch(UniqueFd fd);

  Kind kind_ = Kind::Direct;
  bool is_terminal_ = false;
  int failure_ = 0;
  UniqueFd own_fd_;                ///< opened anew, or a copy of the descriptor; written to
  int direct_fd_ = -1;             ///< a device that never waits for a reader; written to directly, not owned
  std::optional<LossyFile> file_;  ///< writes to such a device, or to a file without a process of its own
  SinkOwner* losses_to_ = nullptr;
  /// An epoll set that holds only `own_fd_`. Asio switches what it waits for to non-blocking, which would affect
  /// everyone who shares the descriptor; switching the set harms nobody.
  boost::asio::posix::stream_descriptor writable_;
};

/// Size of a terminal; 0: unknown.
struct WindowSize {
  unsigned short rows = 0;
  unsigned short columns = 0;
  bool operator==(const WindowSize&) const = default;
};

/// Empty when `fd` is not a terminal.
std::optional<WindowSize> window_size_of(int fd);

/// Width of a terminal; 0: unknown.
std::size_t columns_of(int fd);

void set_window_size(int terminal, const WindowSize& size);

/// The console size without the columns that the prefix of each line takes. Without a console: 24 rows of 80 columns,
/// the size of the classic terminals.
WindowSize window_beside(const std::optional<WindowSize>& console, std::size_t prefix_columns);

}  // namespace muster
