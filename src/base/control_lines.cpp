// Writes and parses messages to agents (the kind, a blank and any bytes, in a frame), and control lines of agents.
#include "base/control_lines.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr char kSpace = ' ';

}  // namespace

std::string write_frame(const Frame& frame) {
  return muster::frame(frame.kind + kSpace + frame.bytes);
}

Result<std::optional<Frame>> next_frame(FrameReader& reader) {
  constexpr std::size_t kMostShown = 64;
  const auto payload = reader.next();
  if (payload && !*payload) {
    return std::optional<Frame>();
  }
  const std::string_view bytes = payload ? std::string_view(**payload) : reader.rest();
  const std::size_t end = bytes.find(kSpace);
  if (!payload || end == 0 || end == std::string_view::npos) {
    return Error{ErrorKind::BadData, "standard input says '" + one_line(bytes.substr(0, bytes.find('\n')), kMostShown) +
                                         "', expected what the launcher of a job sends"};
  }
  return std::optional<Frame>(Frame{std::string(bytes.substr(0, end)), std::string(bytes.substr(end + 1))});
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
    // Number of bytes to take: one at a time until the control line is recognized, then the rest of its line.
    const std::size_t count = kept_.size() < start_.size() ? 1 : std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    kept_ += bytes.substr(0, count);
    bytes.remove_prefix(count);
    if (!may_be_word()) {
      const char last = kept_.back();  // this byte may begin another control line
      kept_.pop_back();
      finish(out);
      (last == kSeparator ? kept_ : out) += last;
    } else if (kept_.back() == '\n') {
      deliver_line();
    } else if (kept_.size() > kMostControlBytes) {
      finish(out);
    }
  }
}

void ControlLineFilter::finish(std::string& out) {
  out += std::exchange(kept_, {});
}

void ControlLineFilter::deliver_line() {
  const std::string line = std::exchange(kept_, {});
  const std::string said = line.substr(start_.size(), line.size() - start_.size() - 1);
  const std::size_t blank = said.find(kSpace);
  on_control(said.substr(0, blank), blank == std::string::npos ? "" : said.substr(blank + 1));
}

}  // namespace muster
