// Marks lines for a terminal, and puts rows below them.
#include "output/terminal/console_lines.hpp"

#include "output/byte_sink.hpp"

namespace muster {

void ConsoleLines::watch_terminal(std::size_t columns, std::optional<int> fd) {
  terminal_.emplace();
  columns_ = columns;
  fd_ = fd;
  rows_.set_size(0, columns);
}

void ConsoleLines::note(std::string_view bytes) {
  if (terminal_) {
    terminal_->note(bytes);
  }
}

std::string ConsoleLines::mark(std::string_view lines) {
  terminal_->set_width(fd_ ? columns_of(*fd_) : columns_);
  return terminal_->mark(lines);
}

void ConsoleLines::note_size() {
  if (fd_ && !rows_.is_empty()) {
    const WindowSize size = window_size_of(*fd_).value_or(WindowSize{});
    rows_.set_size(size.rows, size.columns);
  }
}

/// True if rows may be drawn now: not below a line without an end, which is a prompt, and not on a slow terminal.
bool ConsoleLines::may_draw(std::size_t queued) const {
  constexpr std::size_t kFewBytes = 4096;
  return terminal_ && at_line_start_ && queued < kFewBytes && rows_.is_outdated();
}

std::string ConsoleLines::with_rows(std::string_view bytes, std::size_t queued) {
  at_line_start_ = bytes.back() == '\n';
  note_size();
  std::string output = rows_.erase();
  const std::string rows = draw_rows(queued);
  return output.empty() && rows.empty() ? std::string() : output.append(bytes).append(rows);
}

/// Draws the rows, marked if they look like messages of muster.
std::string ConsoleLines::draw_rows(std::size_t queued) {
  if (!may_draw(queued)) {
    return {};
  }
  std::string output = rows_.erase();
  return output.append(mark(rows_.draw()));
}

}  // namespace muster
