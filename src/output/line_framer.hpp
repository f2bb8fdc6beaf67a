#pragma once

// Turns bytes into prefixed lines, keeps the last lines of a stream, and parses error files of workers. Pure.

#include "base/console_time.hpp"
#include "output/terminal/drawn_rows.hpp"
#include "run/selection.hpp"
#include "supervise/error_moment.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Turns the bytes of one stream of one worker into whole lines, each with a prefix, for a console or a file that
/// other streams share.
///
/// A line that arrives in pieces waits for its end, up to `kLongestLine`; binary bytes pass. Of a line that was
/// overwritten behind a carriage return, as progress bars do, only the last state is given out, with one prefix. Without
/// a prefix nothing is changed or lost unless lines are sanitized.
class LineFramer {
 public:
  /// Longer lines are given out in pieces of about this many bytes, to bound memory.
  static constexpr std::size_t kLongestLine = DrawnRows::kLongestLine;

  /// With an empty `prefix` and `whole_lines` false, bytes pass unchanged and at once.
  explicit LineFramer(std::string prefix, bool whole_lines = true)
      : prefix_(std::move(prefix)), whole_lines_(whole_lines) {}
  /// Gives out only lines that match `filter`, which must outlive the framer.
  LineFramer(std::string prefix, const LineFilter& filter) : prefix_(std::move(prefix)), filter_(&filter) {}

  /// Sets a prefix that is known only after the start. To be called before the first byte.
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }

  /// Puts the time before each prefix. Only for a framer that gives out whole lines and draws no rows.
  void put_time(const ConsoleClock& clock) { clock_ = clock; }

  /// Sanitizes lines for a terminal that several workers share: a line cannot move the cursor to another one
  /// (`sanitize`). `are_marked`: the lines come from another muster, whose marks are kept.
  void sanitize_lines(bool are_marked = false) {
    sanitizes_ = true;
    are_marked_ = are_marked;
  }
  /// False: bytes pass unchanged, in the middle of a line too.
  bool has_whole_lines() const { return whole_lines_; }

  /// Appends to `out` the whole lines that `bytes` complete.
  void feed(std::string_view bytes, std::string& out);

  /// To be called at the end of the stream: appends the rest, and adds a missing line end.
  void finish(std::string& out);

  /// True when a progress bar is pending: bytes with a carriage return but no line end yet.
  bool has_progress() const { return has_return_; }

  /// Appends the last complete step of a pending progress bar as a line.
  void flush_progress(std::string& out);

  /// For a terminal on which rows can be drawn: keeps text that the worker may still change apart from its lines
  /// (`row`).
  void enable_rows() { draws_ = true; }
  bool draws_rows() const { return draws_; }
  /// The text that the worker may still change; empty when no row is drawn.
  std::string row() const { return drawn_ ? drawn_->row() : std::string(); }

  /// True when unfinished text is pending that a terminal should show after a quiet moment.
  bool has_unsettled() const;
  /// The time without bytes after which `show_unfinished` shows the unfinished line; empty: never. Doubles with
  /// each part of a line, so that a row of dots, one a second, does not become a line for each.
  std::optional<std::chrono::milliseconds> quiet_before_showing() const;
  /// For a console that is no terminal: gives out the unfinished text as a line. What follows is the next line.
  void show_unfinished(std::string& out);

  /// To be called after a quiet moment: where rows are drawn, turns an unfinished line into a row.
  void begin_row(std::string& out);
  /// To be called periodically: gives out lines that the worker has drawn and not gone back to for some time.
  void settle(std::string& out);
  /// True when `settle` may give out more lines without new input.
  bool may_settle() const { return drawn_ && drawn_->may_settle(); }
  /// True when plain unfinished text is pending, such as "(Pdb) ", and no progress bar.
  bool has_prompt() const;
  /// Appends the pending prompt without a line end. Text that follows begins with the prefix.
  void show_prompt(std::string& out);

 private:
  std::string_view feed_line(std::string_view bytes, std::string& out);
  void end_line(std::string_view line, std::string& out);
  void start_drawing(std::string& out);
  void draw(std::string_view bytes, std::string& out);
  void append_line(std::string_view line, std::string& out) const;
  bool marks_lines() const { return !prefix_.empty() || clock_.form != ConsoleTime::Off; }
  void keep(std::string_view bytes);
  void forget();

  std::string prefix_;
  ConsoleClock clock_;
  bool whole_lines_ = true;
  bool sanitizes_ = false;
  bool are_marked_ = false;
  bool draws_ = false;
  std::optional<DrawnRows> drawn_;      ///< takes all bytes while it is set
  const LineFilter* filter_ = nullptr;  ///< not owned; null: every line
  std::string partial_;                 ///< bytes since the last line end
  bool has_return_ = false;             ///< a carriage return is among them
  int shown_parts_ = 0;                 ///< how many parts of this line `show_unfinished` has shown
};

/// Keeps the end of a stream, in bounded memory, for the last lines in a report.
class Tail {
 public:
  static constexpr std::size_t kBytes = std::size_t{16} << 10U;  ///< minimum that is kept of a longer stream
  static constexpr std::size_t kLines = 20;
  static constexpr std::size_t kLongestLine = 2'000;  ///< longer lines are cut in `lines()`

  void feed(std::string_view bytes);
  /// To be called before the bytes of each read, where `error_since` is to find them.
  void begin_read(const ReadMoment& moment, std::chrono::steady_clock::time_point now);

  /// The last lines, oldest first, valid UTF-8, without line ends. The first one may lack its beginning when the
  /// lines together exceed the memory.
  std::vector<std::string> lines() const;
  /// The moment at which the last error in `lines()` was written (`find_error`); empty: none since `since`.
  std::optional<ReadMoment> error_since(std::chrono::steady_clock::time_point since) const;

 private:
  std::uint64_t offset() const { return fed_ - bytes_.size(); }

  std::string bytes_;
  std::uint64_t fed_ = 0;        ///< bytes of the stream so far
  std::vector<ReadMark> reads_;  ///< of the bytes that are kept, oldest first
};

/// Read limit of an error file; more than any traceback has.
inline constexpr std::size_t kMostErrorFileBytes = std::size_t{1} << 20U;

/// The message of a worker's error file, in one sentence; the known forms are those of torch.distributed.elastic:
/// {"message": "text"} and {"message": {"message": "text", ...}}. Any other content, torn or binary, gives an empty
/// text: it must not break the report.
std::string read_error_file(const std::string& content);

/// The error file for the launcher above: the worker's own content, and, unless `error_code` is 0, `errorCode` in a
/// message of the second form. JSON; empty for any other content.
/// Source: dump_error_file in torch/distributed/elastic/multiprocessing/errors/error_handler.py of torch 2.13.
std::string pass_on_error_file(const std::string& content, int error_code);

}  // namespace muster
