// Writes and parses frames ("KIND LENGTH", a line end, and LENGTH bytes), and control lines of agents.
#include "remote/control_lines.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kLongestHeader = 64;

Error no_frame(std::string_view bytes) {
  return Error{ErrorKind::BadData,
               "standard input says '" + one_line(bytes, kLongestHeader) + "', expected what the front of a job sends"};
}

}  // namespace

std::string write_frame(const Frame& frame) {
  return frame.kind + " " + std::to_string(frame.bytes.size()) + "\n" + frame.bytes;
}

Result<std::optional<FrameReader::Header>> FrameReader::read_header() const {
  const std::size_t end = bytes_.find('\n');
  if (end == std::string::npos) {
    return bytes_.size() < kLongestHeader ? Result<std::optional<Header>>(std::optional<Header>()) : no_frame(bytes_);
  }
  const std::string_view line = std::string_view(bytes_).substr(0, end);
  const std::size_t blank = line.find(' ');
  const auto size = blank == std::string_view::npos
                        ? std::nullopt
                        : parse_integer(line.substr(blank + 1), 0, static_cast<int>(kLongest));
  if (!size || blank == 0) {
    return no_frame(line);
  }
  return std::optional<Header>(Header{std::string(line.substr(0, blank)), static_cast<std::size_t>(*size), end + 1});
}

Result<std::optional<Frame>> FrameReader::next() {
  const auto header = TRY(read_header());
  if (!header || bytes_.size() < header->length + header->size) {
    return std::optional<Frame>();
  }
  const auto& [kind, size, length] = *header;
  Frame frame{kind, bytes_.substr(length, size)};
  bytes_.erase(0, length + size);
  return frame;
}

std::size_t FrameReader::wanted() const {
  const auto header = read_header();
  const bool is_known = header && *header;
  return is_known ? std::max<std::size_t>((*header)->length + (*header)->size - bytes_.size(), 1) : 1;
}

// Control lines: each begins with a record separator (0x1E) and the nonce.

namespace {

constexpr char kSeparator = '\x1e';

}  // namespace

std::string write_control(const std::string& nonce, const std::string& kind, const std::string& text) {
  return kSeparator + nonce + " " + kind + " " + text + "\n";
}

ControlLineFilter::ControlLineFilter(std::string nonce) : start_(kSeparator + std::move(nonce) + " ") {}

bool ControlLineFilter::may_be_word() const {
  const std::size_t length = std::min(kept_.size(), start_.size());
  return std::string_view(kept_).substr(0, length) == std::string_view(start_).substr(0, length);
}

/// Bytes to take next: one at a time until the control line is recognized, then the rest of its line.
std::size_t ControlLineFilter::length_to_keep(std::string_view bytes) const {
  const bool is_known = kept_.size() >= start_.size();
  const std::size_t end = std::min(bytes.find('\n'), bytes.size() - 1);
  return is_known ? end + 1 : 1;
}

void ControlLineFilter::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (kept_.empty()) {
      const std::size_t at = std::min(bytes.find(kSeparator), bytes.size());
      out += bytes.substr(0, at);
      bytes.remove_prefix(at);
    }
    if (bytes.empty()) {
      return;
    }
    const std::size_t count = length_to_keep(bytes);
    kept_ += bytes.substr(0, count);
    bytes.remove_prefix(count);
    if (!may_be_word()) {
      const char last = kept_.back();  // this byte may begin another control line
      kept_.pop_back();
      finish(out);
      (last == kSeparator ? kept_ : out) += last;
    } else if (kept_.back() == '\n') {
      send();
    }
  }
}

void ControlLineFilter::finish(std::string& out) {
  out += std::exchange(kept_, {});
}

void ControlLineFilter::send() {
  const std::string line = std::exchange(kept_, {});
  const std::string said = line.substr(start_.size(), line.size() - start_.size() - 1);
  const std::size_t blank = said.find(' ');
  on_control(said.substr(0, blank), blank == std::string::npos ? "" : said.substr(blank + 1));
}

}  // namespace muster
