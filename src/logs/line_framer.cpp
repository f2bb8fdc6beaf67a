// From bytes to whole, prefixed lines. Pure: reading and writing happen in run/.
#include <muster/base/visible.hpp>
#include <muster/logs/line_framer.hpp>

#include <cstring>

namespace muster {
namespace {

/// Bytes of the UTF-8 sequence that a byte announces; 0 for one that continues a sequence.
std::size_t announced_length(unsigned char byte) {
  if (byte < 0x80) {
    return 1;
  }
  if (byte < 0xC0) {
    return 0;
  }
  return byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
}

/// Where to cut so that no UTF-8 sequence is cut: before the last one if it is not complete.
std::size_t whole_characters(std::string_view bytes) {
  for (std::size_t back = 1; back <= 4 && back <= bytes.size(); ++back) {
    const std::size_t start = bytes.size() - back;
    const std::size_t length = announced_length(static_cast<unsigned char>(bytes[start]));
    if (length > 0) {
      return length > back ? start : bytes.size();
    }
  }
  return bytes.size();
}

}  // namespace

void LineFramer::feed(std::string_view bytes, std::string& out) {
  if (!whole_lines_) {
    out.append(bytes);
    return;
  }
  std::size_t start = 0;
  while (start < bytes.size()) {
    const void* const at = std::memchr(bytes.data() + start, '\n', bytes.size() - start);
    if (at == nullptr) {
      break;
    }
    const auto end = static_cast<std::size_t>(static_cast<const char*>(at) - bytes.data()) + 1;
    const std::string_view line = bytes.substr(start, end - start);
    if (partial_.empty()) {
      append_line(line, out);
    } else {
      partial_.append(line);
      append_line(partial_, out);
      forget();
    }
    start = end;
  }
  keep(bytes.substr(start));
  if (partial_.size() > kLongestLine) {
    const std::size_t cut = whole_characters(partial_);
    append_line(std::string_view(partial_).substr(0, cut), out);
    partial_.erase(0, cut);
  }
}

void LineFramer::finish(std::string& out) {
  if (!partial_.empty()) {
    append_line(partial_, out);
  }
  partial_ = {};
}

void LineFramer::keep(std::string_view bytes) {
  partial_.append(bytes);
  has_return_ = has_return_ || bytes.find('\r') != std::string_view::npos;
}

/// A very long line gives its memory back.
void LineFramer::forget() {
  constexpr std::size_t kUsualLine = std::size_t{64} << 10U;
  if (partial_.capacity() > kUsualLine) {
    partial_ = {};
  }
  partial_.clear();
  has_return_ = false;
}

void LineFramer::flush_progress(std::string& out) {
  const std::size_t last = partial_.rfind('\r');
  if (last == std::string::npos || last == 0) {
    return;  // a bar that starts with a return shows nothing before its next step
  }
  append_line(std::string_view(partial_).substr(0, last), out);
  partial_.erase(0, last);
}

/// Gives a line out if it is wanted; one without a line end gets it.
void LineFramer::append_line(std::string_view line, std::string& out) const {
  if (filter_ != nullptr && !filter_->matches(line)) {
    return;
  }
  if (is_tame_) {
    append_framed(tame(line), out);
  } else {
    append_framed(line, out);
  }
  if (!line.ends_with('\n')) {
    out += '\n';
  }
}

void LineFramer::append_framed(std::string_view line, std::string& out) const {
  out += prefix_;
  if (prefix_.empty()) {
    out += line;
    return;
  }
  // A return before the line end, as in "\r\n", starts nothing new.
  std::size_t start = 0;
  while (start < line.size()) {
    const void* const found = std::memchr(line.data() + start, '\r', line.size() - start);
    if (found == nullptr) {
      break;
    }
    const auto next = static_cast<std::size_t>(static_cast<const char*>(found) - line.data()) + 1;
    out += line.substr(start, next - start);
    if (next < line.size() && line[next] != '\n' && line[next] != '\r') {
      out += prefix_;
    }
    start = next;
  }
  out += line.substr(start);
}

}  // namespace muster
