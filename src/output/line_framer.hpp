#pragma once

#include "output/drawn_rows.hpp"
#include "output/selection.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Turns the bytes of one stream of one worker into whole lines, each with a prefix, for a console
/// or a file that takes lines of others as well.
///
/// Nothing is changed or lost, unless lines are to be tame: a line that arrives in pieces waits for its end, of whatever length
/// up to `kLongestLine`; binary bytes pass. A carriage return inside a line, as progress bars write
/// it, gets the prefix again behind it, so that the terminal still shows whose bar it is.
class LineFramer {
 public:
  /// A line is given out in pieces beyond this many bytes: memory must have a bound.
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

  /// With `prefix` empty and `whole_lines` false, bytes pass through as they come.
  explicit LineFramer(std::string prefix, bool whole_lines = true)
      : prefix_(std::move(prefix)), whole_lines_(whole_lines) {}
  /// Gives out only those lines that `filter` wants, which outlives the framer.
  LineFramer(std::string prefix, const LineFilter& filter) : prefix_(std::move(prefix)), filter_(&filter) {}

  /// For what is known only after the start. To be called before the first byte.
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }

  /// For a terminal that several workers share: no line moves the cursor out of itself (`tame`).
  void sanitize_lines() { sanitizes_ = true; }
  /// False: bytes pass as they come, in whatever line.
  [[nodiscard]] bool has_whole_lines() const { return whole_lines_; }

  /// Appends to `out` the whole lines that `bytes` complete.
  void feed(std::string_view bytes, std::string& out);

  /// The stream is at its end: appends what is left, with a line end of its own.
  void finish(std::string& out);

  /// True when a progress bar waits: bytes with a carriage return but no line end yet.
  [[nodiscard]] bool has_progress() const { return has_return_; }

  /// Appends the complete steps of a waiting progress bar as one line.
  void flush_progress(std::string& out);

  /// For a terminal on which rows can be drawn: what the worker may still change is kept apart from its lines (`shown`).
  void draw_rows() { draws_ = true; }
  [[nodiscard]] bool draws_rows() const { return draws_; }
  /// The size of the worker's terminal.
  void set_size(std::size_t rows, std::size_t columns);
  [[nodiscard]] bool has_rows() const { return drawn_.has_value(); }
  /// Rows that the worker may still change; empty where none are drawn.
  [[nodiscard]] ShownRows shown(bool has_cursor) const;

  /// Something waits that is to be shown on a terminal when nothing follows for a moment.
  [[nodiscard]] bool has_unsettled() const;
  /// Nothing has followed: where rows are drawn, a line without its end becomes one, and what is above it becomes lines.
  void begin_row(std::string& out);
  /// To be called from time to time: rows that the worker has left for long become lines.
  void settle(std::string& out);
  /// That may still make lines, though nothing comes.
  [[nodiscard]] bool may_settle() const { return drawn_ && drawn_->may_settle(); }
  /// The worker lets a line be edited.
  [[nodiscard]] bool is_edited() const { return drawn_ && drawn_->is_edited(); }
  /// A line without its end waits in which nothing was drawn, such as "(Pdb) ".
  [[nodiscard]] bool has_prompt() const;
  /// Appends that, without an end. What follows begins with the prefix.
  void show_prompt(std::string& out);

 private:
  [[nodiscard]] std::string_view feed_line(std::string_view bytes, std::string& out);
  void start_drawing(std::string& out);
  void draw(std::string_view bytes, std::string& out);
  void append_line(std::string_view line, std::string& out) const;
  void append_framed(std::string_view line, std::string& out) const;
  void keep(std::string_view bytes);
  void forget();

  std::string prefix_;
  bool whole_lines_ = true;
  bool sanitizes_ = false;
  bool draws_ = false;
  std::size_t height_ = 0;
  std::size_t width_ = 0;
  std::optional<DrawnRows> drawn_;      ///< takes all bytes while there are any
  const LineFilter* filter_ = nullptr;  ///< not owned; empty: every line
  std::string partial_;                 ///< bytes since the last line end
  bool has_return_ = false;             ///< a carriage return is among them
};

/// Remembers the end of a stream, in bounded memory, so that a report can show its last lines.
class Tail {
 public:
  static constexpr std::size_t kBytes = std::size_t{16} << 10U;  ///< remembered at least, if there
  static constexpr std::size_t kLines = 20;
  static constexpr std::size_t kLongestLine = 2'000;  ///< longer lines are cut in `lines()`

  void feed(std::string_view bytes);

  /// The last lines, oldest first, valid UTF-8, without line ends. The first one may lack its
  /// beginning when the lines together are longer than what is remembered.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::string bytes_;
};

/// More than any traceback has.
inline constexpr std::size_t kMostErrorFileBytes = std::size_t{1} << 20U;

/// What a worker wrote into its error file, in one sentence; the known forms are those of
/// torch.distributed.elastic: {"message": "text"} and {"message": {"message": "text", ...}}.
/// Anything else, torn or binary, gives nothing: it must not break the report.
[[nodiscard]] std::string read_error_file(const std::string& content);

/// The error file for the launcher above: all that the worker wrote, and `errorCode` in a message of the second form, unless that is
/// 0. JSON; empty for anything else.
/// Source: dump_error_file in torch/distributed/elastic/multiprocessing/errors/error_handler.py of torch 2.13.
[[nodiscard]] std::string pass_on_error_file(const std::string& content, int error_code);

}  // namespace muster
