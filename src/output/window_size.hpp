#pragma once

// How large terminals are. Private to run/.

#include <cstddef>
#include <optional>

namespace muster {

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
[[nodiscard]] WindowSize window_beside(const std::optional<WindowSize>& console,
                                       std::size_t prefix_columns);

}  // namespace muster
