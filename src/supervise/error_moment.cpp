// Looks for errors in what a process wrote, line by line, and for the read that brought each of them.
#include "supervise/error_moment.hpp"

#include "base/text.hpp"
#include "supervise/end_hints.hpp"

#include <algorithm>
#include <string>

namespace muster {
namespace {

/// A line that shows an error, as far as the last read of the line shows it: a progress bar may stand before that.
struct ErrorLine {
  std::string words;  ///< in lower case
  const ReadMark* read = nullptr;
  bool begins_read = false;
};

bool has_error(std::string_view text) {
  return has_pattern(lower_case(std::string(text)), "trace");
}

/// The line from `begin` to `end`, if it shows an error; empty: it shows none.
std::optional<ErrorLine> error_in(const MarkedText& text, std::size_t begin, std::size_t end) {
  if (!has_error(text.text.substr(begin, end - begin))) {
    return std::nullopt;
  }
  const auto is_later = [](std::uint64_t offset, const ReadMark& mark) { return offset < mark.offset; };
  auto mark = std::upper_bound(text.marks.begin(), text.marks.end(), text.offset + end, is_later);
  while (mark != text.marks.begin()) {
    --mark;
    const std::uint64_t read_begin = std::max(mark->offset, text.offset) - text.offset;
    const std::size_t from = std::max<std::size_t>(begin, read_begin);
    const std::string_view part = from < end ? text.text.substr(from, end - from) : std::string_view();
    if (has_error(part)) {
      return ErrorLine{lower_case(std::string(part)), &*mark, mark->offset == text.offset + from};
    }
    if (from == begin) {
      break;
    }
  }
  return std::nullopt;
}

/// True for the first line of a traceback that does not belong to the error in the line before it.
bool begins_traceback(const ErrorLine& line, const std::optional<ErrorLine>& before) {
  const bool is_traceback = line.words.find("traceback (") != std::string::npos;
  const bool goes_on = before && (before->read == line.read || before->words.find("exception") != std::string::npos);
  return is_traceback && !goes_on;
}

}  // namespace

bool was_before(const ReadMoment& one, const ReadMoment& other) {
  return one.turn != other.turn ? one.turn < other.turn : one.is_exact && one.number < other.number;
}

std::optional<ReadMoment> find_error(const MarkedText& text, std::chrono::steady_clock::time_point since) {
  constexpr std::chrono::milliseconds kOneError{50};  // lines further apart tell of two errors
  const auto first = std::ranges::find_if(text.marks, [&](const ReadMark& mark) { return mark.at >= since; });
  if (first == text.marks.end()) {
    return std::nullopt;
  }
  std::optional<ReadMoment> found;
  std::optional<ErrorLine> before;  // the line before, if it shows an error
  const ReadMark* last = nullptr;   // the read of the last error line
  std::size_t begin = std::max(first->offset, text.offset) - text.offset;
  for (std::size_t end = 0; begin < text.text.size(); begin = end + 1) {
    end = std::min(text.text.find_first_of("\r\n", begin), text.text.size());
    if (trim(text.text.substr(begin, end - begin)).empty()) {
      continue;
    }
    const auto line = error_in(text, begin, end);
    if (line && (last == nullptr || line->read->at - last->at > kOneError || begins_traceback(*line, before))) {
      found = line->read->moment;
      found->is_exact = found->is_exact && line->begins_read;
    }
    last = line ? line->read : last;
    before = line;
  }
  return found;
}

}  // namespace muster
