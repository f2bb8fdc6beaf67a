// See ioctl_tty(2).
#include "output/window_size.hpp"

#include <sys/ioctl.h>

namespace muster {

std::optional<WindowSize> window_size_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) {
    return std::nullopt;
  }
  return WindowSize{.rows = size.ws_row, .columns = size.ws_col};
}

void set_window_size(int terminal, const WindowSize& size) {
  winsize wanted{};
  wanted.ws_row = size.rows;
  wanted.ws_col = size.columns;
  (void)::ioctl(terminal, TIOCSWINSZ, &wanted);  // what it is drawn for is a wish
}

WindowSize window_beside(const std::optional<WindowSize>& console, std::size_t prefix_columns) {
  constexpr WindowSize kUsual{.rows = 24, .columns = 80};
  constexpr std::size_t kLeastColumns =
      10;  // a prefix that leaves less was not meant for this console
  WindowSize left = console.value_or(kUsual);
  if (left.columns >= prefix_columns + kLeastColumns) {
    left.columns = static_cast<unsigned short>(left.columns - prefix_columns);
  }
  return left;
}

}  // namespace muster
