#pragma once

#include <muster/logs/line_filter.hpp>

#include <string>
#include <string_view>

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
  LineFramer(std::string prefix, const LineFilter& filter)
      : prefix_(std::move(prefix)), filter_(&filter) {}

  /// For what is known only after the start. To be called before the first byte.
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }

  /// For a terminal that several workers share: no line moves the cursor out of itself (`tame`).
  void tame_lines() { is_tame_ = true; }

  /// Appends to `out` the whole lines that `bytes` complete.
  void feed(std::string_view bytes, std::string& out);

  /// The stream is at its end: appends what is left, with a line end of its own.
  void finish(std::string& out);

  /// True when a progress bar waits: bytes with a carriage return but no line end yet.
  [[nodiscard]] bool has_progress() const { return has_return_; }

  /// Appends the complete steps of a waiting progress bar as one line.
  void flush_progress(std::string& out);

 private:
  void append_line(std::string_view line, std::string& out) const;
  void append_framed(std::string_view line, std::string& out) const;
  void keep(std::string_view bytes);
  void forget();

  std::string prefix_;
  bool whole_lines_ = true;
  bool is_tame_ = false;
  const LineFilter* filter_ = nullptr;  ///< not owned; empty: every line
  std::string partial_;                 ///< bytes since the last line end
  bool has_return_ = false;             ///< a carriage return is among them
};

}  // namespace muster
