#pragma once

#include "output/terminal_line.hpp"

#include <optional>
#include <string_view>

namespace muster {

/// What a control has changed beyond the line.
struct ControlEffect {
  bool is_changed = false;              ///< in more than colours
  std::optional<bool> is_other_screen;  ///< empty: the screen is the one that it was
};

/// Does what a terminal does at "ESC last". Whether it changes anything.
bool obey_escape(TerminalLine& line, char last);

/// Does what a terminal does at "ESC [ control last". Of a cursor that leaves the line the column is known, and not the row.
[[nodiscard]] ControlEffect obey_control(TerminalLine& line, std::string_view control, char last);

}  // namespace muster
