#pragma once

// Where bytes go in the end.

#include "base/file_io.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace muster {

/// Takes bytes without ever making the caller wait.
class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  /// How many bytes it took; -1 with errno: none, and EAGAIN for now.
  [[nodiscard]] virtual ssize_t write_some(std::string_view bytes) = 0;
  /// Calls `then` once, when there is something new: it may take bytes again, or has failed, or what
  /// it took has been written.
  virtual void when_ready(std::function<void()> then) = 0;

  /// Takes note of all that is known of what it took.
  virtual void catch_up() {}
  /// True when what it took is where it belongs.
  [[nodiscard]] virtual bool has_written_all() const { return true; }
  /// Bytes that are where they belong: grows as long as its file system answers.
  [[nodiscard]] virtual std::uint64_t progress() const { return 0; }
  /// Why it takes nothing any more, as errno, where that was found out later; 0: it may.
  [[nodiscard]] virtual int failure() const { return 0; }
  /// True for a file, whose file system may hang for as long as it wants.
  [[nodiscard]] virtual bool is_file() const { return false; }

  /// Calls nobody any more. What comes later it takes if it can at once.
  virtual void stop_waiting() = 0;
  /// Takes nothing any more. Returns how many lines it took and has not written.
  virtual std::uint64_t give_up() { return 0; }
};

// Standard output or standard error, when it is a terminal, a pipe, a socket or a device.

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

// How large terminals are.

/// Of a terminal; 0: it does not say.
struct WindowSize {
  unsigned short rows = 0;
  unsigned short columns = 0;
  bool operator==(const WindowSize&) const = default;
};

/// Empty: it is no terminal.
[[nodiscard]] std::optional<WindowSize> window_size_of(int fd);

void set_window_size(int terminal, const WindowSize& size);

/// What is left of the console for lines that stand behind a prefix so wide. Without a console it is as large as terminals
/// were that could not be larger: 24 rows of 80 columns.
[[nodiscard]] WindowSize window_beside(const std::optional<WindowSize>& console, std::size_t prefix_columns);

}  // namespace muster
