#pragma once

// Knows what stands on a console: whose line is open, and on a terminal the marks in lines and the rows below them.
// Pure but for reading the size of the terminal.

#include "output/terminal/drawn_rows.hpp"
#include "output/terminal/terminal_sanitizer.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

/// Knows whether the console's cursor is inside a line, and whose line it is, so that no other writer continues that line. On
/// a terminal it also marks lines that look like messages of muster, and draws the rows of workers below the output.
class ConsoleLines {
 public:
  /// Treats the console as a terminal, so that muster's messages stay recognizable there. `fd` tells its current width;
  /// empty: it is `columns` wide.
  void watch_terminal(std::size_t columns, std::optional<int> fd = std::nullopt);
  bool is_terminal() const { return terminal_.has_value(); }
  /// On this terminal muster's messages may begin with a host name.
  void expect_hosts() { terminal_->expect_hosts(); }

  /// Notes bytes of a writer that owns the screen.
  void note(std::string_view bytes);
  /// Returns lines of one of several writers. On a terminal, "| " stands in them in front of each "muster: " with which a row
  /// of the terminal may begin: without it, people would take this line of a worker for a message of muster.
  std::string mark(std::string_view lines);
  /// Output that undoes changes to the terminal; a new line begins behind it.
  std::string write_reset() { return terminal_ ? terminal_->write_reset() : std::string(); }

  bool is_at_start() const { return at_line_start_; }
  /// True if the writer may continue the open line. False: another writer's line is open, and is to be ended first.
  bool may_continue(const void* writer) const { return at_line_start_ || line_of_ == writer; }
  /// Notes who may continue the line of the cursor; null: nobody.
  void set_writer(const void* writer) { line_of_ = at_line_start_ ? nullptr : writer; }
  /// Forgets a writer that is destroyed.
  void forget(const void* writer) { line_of_ = line_of_ == writer ? nullptr : line_of_; }

  /// Sets the row of a worker, empty for none; it stands below all lines of the terminal.
  void set_row(std::size_t worker, std::string row) { rows_.set(worker, std::move(row)); }
  /// Leaves the drawn rows on the screen, because another program writes to the terminal now.
  void leave_rows() { rows_.leave(); }
  /// The other program is done: rows may be drawn again.
  void redraw_rows() { rows_.come_back(); }
  /// Passes on the size that the terminal has now: rows are erased and drawn by it.
  void note_size();
  /// The bytes to write instead of `bytes`, because rows are erased before them or drawn behind them; empty: none are.
  /// `queued`: bytes that the terminal has not taken.
  std::string with_rows(std::string_view bytes, std::size_t queued);
  /// Output that draws rows which have changed; empty: none, or not now.
  std::string draw_rows(std::size_t queued);

 private:
  bool may_draw(std::size_t queued) const;

  std::optional<TerminalSanitizer> terminal_;  ///< empty: no terminal; bytes pass unchanged
  std::size_t columns_ = 0;                    ///< of the terminal
  std::optional<int> fd_;                      ///< tells its current width; not owned
  LiveRows rows_;
  bool at_line_start_ = true;
  const void* line_of_ = nullptr;  ///< the writer that may continue the line of the cursor; not owned
};

}  // namespace muster
