#pragma once

// One stream of one worker, as `Output` reads it. Private to its two files.

#include "output/output.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace muster {

class PipeReader::Stream {
 public:
  Stream(boost::asio::io_context& io,
         UniqueFd read_end,
         StreamRoute stream_route,
         std::size_t stream_number)
      : route(std::move(stream_route)),
        number(stream_number),
        is_terminal(::isatty(read_end.get()) != 0),
        pipe(io, read_end.release()),
        progress_timer(io) {}

  [[nodiscard]] bool has_progress() const {
    const auto& shared = route.shared_files;
    return route.framer.has_progress() ||
           std::any_of(shared.begin(), shared.end(), [](const LineRoute& line_route) {
             return line_route.framer.has_progress();
           });
  }

  [[nodiscard]] bool draws_rows() const {
    return route.console != nullptr && route.framer.draws_rows();
  }
  /// The worker may edit what is typed, key by key.
  [[nodiscard]] bool may_edit() const { return route.is_typed_to && !echoes(STDIN_FILENO); }

  /// What is typed there is shown by the terminal itself.
  [[nodiscard]] static bool echoes(int fd) {
    termios settings{};
    return ::tcgetattr(fd, &settings) == 0 && (settings.c_lflag & ECHO) != 0;
  }

  StreamRoute route;
  std::size_t number;  ///< in the order of the workers
  bool is_terminal;
  WindowSize window{};  ///< that the terminal has
  boost::asio::posix::stream_descriptor pipe;
  boost::asio::steady_timer progress_timer;
  Tail tail;
  std::optional<std::chrono::steady_clock::time_point> last_output;  ///< empty: none yet
  std::chrono::steady_clock::time_point last_read;
  std::chrono::steady_clock::time_point last_settled;
  bool has_unsettled = false;  ///< it is to be settled
  bool is_open = true;
  bool is_paused = false;
  bool has_large_pipe = false;
  bool timer_runs = false;
  bool is_within_line = false;     ///< standard error: no line end has come since
  ssize_t bytes_left_at_exit = 0;  ///< bytes in the pipe when the last process had ended
};

}  // namespace muster
