// Turns bytes into whole, prefixed lines, keeps the last lines of a stream, and parses error files of workers. Pure.
#include "output/line_framer.hpp"

#include "base/display_text.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "output/terminal/terminal_sanitizer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster {
namespace {

/// The last position to cut at that splits no UTF-8 sequence: before an incomplete or invalid one at the end.
std::size_t whole_characters(std::string_view bytes) {
  for (std::size_t back = 1; back < 4 && back <= bytes.size(); ++back) {
    const std::size_t start = bytes.size() - back;
    if ((static_cast<unsigned char>(bytes[start]) & 0xC0U) != 0x80U) {
      return utf8_sequence(bytes.substr(start)) == 0 ? start : bytes.size();
    }
  }
  return bytes.size();
}

/// True when a line draws: it has a control that is no colour and does not erase to the end, or it overwrites text.
/// An incomplete control counts, too.
bool begins_to_draw(std::string_view line) {
  const std::size_t end = line.ends_with('\n') ? line.find_last_not_of("\r\n") + 1 : line.size();
  line = line.substr(0, end);
  for (std::size_t at = line.find_first_of("\x1b\r\b"); at != std::string_view::npos;
       at = line.find_first_of("\x1b\r\b")) {
    line.remove_prefix(at);
    const std::size_t last = line.find_first_not_of("0123456789;:", 2);
    if (!line.starts_with("\x1b[") || last == std::string_view::npos || (line[last] != 'm' && line[last] != 'K')) {
      return true;
    }
    line.remove_prefix(last);
  }
  return false;
}

/// The text behind the last carriage return of a line, with the line's end. Searches by memrchr(3): rfind() looks at one
/// byte after the other, which took a quarter of the CPU time for the output of many workers.
std::string_view last_state(std::string_view line) {
  const std::size_t size = line.find_last_not_of("\r\n") + 1;
  const void* const at = size == 0 ? nullptr : ::memrchr(line.data(), '\r', size);
  return at == nullptr ? line : line.substr(static_cast<std::size_t>(static_cast<const char*>(at) - line.data()) + 1);
}

}  // namespace

void LineFramer::feed(std::string_view bytes, std::string& out) {
  if (!whole_lines_) {
    out.append(bytes);
    return;
  }
  while (!bytes.empty() && !drawn_) {
    bytes = feed_line(bytes, out);
  }
  if (drawn_) {
    draw(bytes, out);
  }
  if (partial_.size() > kLongestLine) {
    const std::size_t cut = whole_characters(partial_);
    append_line(std::string_view(partial_).substr(0, cut), out);
    partial_.erase(0, cut);
  }
}

/// Takes the first line, or the part that has arrived, and returns the rest.
std::string_view LineFramer::feed_line(std::string_view bytes, std::string& out) {
  const void* const at = std::memchr(bytes.data(), '\n', bytes.size());
  const auto end =
      at == nullptr ? bytes.size() : static_cast<std::size_t>(static_cast<const char*>(at) - bytes.data()) + 1;
  const std::string_view line = bytes.substr(0, end);
  if (draws_ && begins_to_draw(line)) {
    start_drawing(out);
    return bytes;
  }
  if (at == nullptr) {
    keep(line);
  } else if (partial_.empty()) {
    end_line(line, out);
  } else {
    partial_.append(line);
    end_line(partial_, out);
    forget();
  }
  return bytes.substr(end);
}

/// Ends a line. If its text was shown already, as a line of its own, nothing is left to show.
void LineFramer::end_line(std::string_view line, std::string& out) {
  const bool was_shown = std::exchange(shown_parts_, 0) > 0;
  if (!was_shown || line.find_first_not_of("\r\n") != std::string_view::npos) {
    append_line(line, out);
  }
}

void LineFramer::start_drawing(std::string& out) {
  const std::string begun = partial_;
  forget();
  drawn_.emplace(prefix_);
  drawn_->feed(begun, out);
}

void LineFramer::draw(std::string_view bytes, std::string& out) {
  drawn_->feed(bytes, out);
  if (drawn_->is_done()) {
    drawn_.reset();
  }
}

bool LineFramer::has_unsettled() const {
  constexpr std::size_t kLongestUnfinished = 4096;  // longer text is not a prompt, and stays whole
  const bool is_begun = whole_lines_ && !partial_.empty() && partial_.size() <= kLongestUnfinished;
  return drawn_ || (is_begun && !has_return_);
}

std::optional<std::chrono::milliseconds> LineFramer::quiet_before_showing() const {
  constexpr std::chrono::milliseconds kFirst{500};
  constexpr int kMostDoublings = 7;  // a minute
  const bool is_shown = !draws_ && marks_lines() && has_unsettled();
  return is_shown ? std::optional(kFirst * (1 << std::min(shown_parts_, kMostDoublings))) : std::nullopt;
}

void LineFramer::show_unfinished(std::string& out) {
  const std::size_t cut = whole_characters(partial_);
  if (cut > 0) {
    append_line(std::string_view(partial_).substr(0, cut), out);
    partial_.erase(0, cut);
    ++shown_parts_;
  }
}

void LineFramer::begin_row(std::string& out) {
  if (draws_ && !drawn_ && has_unsettled()) {
    start_drawing(out);
  }
}

void LineFramer::settle(std::string& out) {
  if (drawn_) {
    drawn_->settle(out);
    draw({}, out);
  }
}

bool LineFramer::has_prompt() const {
  return drawn_ ? drawn_->is_plain() : has_unsettled();
}

void LineFramer::show_prompt(std::string& out) {
  if (drawn_) {
    out += drawn_->row();
    drawn_.reset();
  } else {
    out += clock_.now() + prefix_ + sanitize(partial_);
    forget();
  }
}

void LineFramer::finish(std::string& out) {
  if (drawn_) {
    drawn_->finish(out);
    drawn_.reset();
  }
  if (!partial_.empty()) {
    append_line(partial_, out);
  }
  partial_ = {};
}

void LineFramer::keep(std::string_view bytes) {
  partial_.append(bytes);
  has_return_ = has_return_ || bytes.find('\r') != std::string_view::npos;
}

/// Drops the partial line, and frees the memory of a very long one.
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
  const std::string_view steps = std::string_view(partial_).substr(0, last);
  const bool is_erased = last_state(steps).find_first_not_of(' ') == std::string_view::npos;
  if (!is_erased || !marks_lines()) {
    append_line(steps, out);
  }
  partial_.erase(0, last);
}

/// Gives out a line that passes the filter, and adds a missing line end.
void LineFramer::append_line(std::string_view line, std::string& out) const {
  line = marks_lines() || sanitizes_ ? last_state(line) : line;
  if (filter_ != nullptr && !filter_->matches(line)) {
    return;
  }
  if (clock_.form != ConsoleTime::Off) {
    out += clock_.now();
  }
  out += prefix_;
  if (sanitizes_) {
    out += are_marked_ ? sanitize_marked(line) : sanitize(line);
  } else {
    out += line;
  }
  if (!line.ends_with('\n')) {
    out += '\n';
  }
}

// Keeps the last lines of a stream for the report.

namespace {

/// Cuts the beginning of a line that is too long, between characters if it is text.
void shorten(std::string& line) {
  if (line.size() <= Tail::kLongestLine) {
    return;
  }
  line.erase(0, line.size() - Tail::kLongestLine);
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; };
  for (int i = 0; i < 3 && !line.empty() && continues(line.front()); ++i) {
    line.erase(0, 1);
  }
  line.insert(0, "...");
}

/// Leaves out what chooses a terminal's colours, such as "ESC [ 1;35 m": Python 3.13 colours its tracebacks.
std::string without_colours(std::string_view line) {
  std::string plain;
  while (!line.empty()) {
    const std::size_t end =
        line.starts_with("\x1b[") ? line.find_first_not_of("0123456789;:", 2) : std::string_view::npos;
    const bool is_colour = end != std::string_view::npos && line[end] == 'm';
    plain += is_colour ? "" : line.substr(0, 1);
    line.remove_prefix(is_colour ? end + 1 : 1);
  }
  return plain;
}

}  // namespace

void Tail::begin_read(const ReadMoment& moment, std::chrono::steady_clock::time_point now) {
  constexpr std::size_t kMostReads = 4096;
  if (reads_.size() >= kMostReads) {  // cut rarely, as the bytes are
    const auto is_kept = [this](const ReadMark& read) { return read.offset >= offset(); };
    const auto first_kept = std::ranges::find_if(reads_, is_kept);
    reads_.erase(reads_.begin(), std::max(first_kept, reads_.begin() + kMostReads / 2));
  }
  reads_.push_back({fed_, moment, now});
}

std::optional<ReadMoment> Tail::error_since(std::chrono::steady_clock::time_point since) const {
  return find_error({bytes_, offset(), reads_}, since);
}

void Tail::feed(std::string_view bytes) {
  fed_ += bytes.size();
  if (bytes.size() >= kBytes) {
    bytes_.assign(bytes.substr(bytes.size() - kBytes));
    return;
  }
  bytes_.append(bytes);
  if (bytes_.size() > 2 * kBytes) {  // cut rarely: each cut moves the bytes that stay
    bytes_.erase(0, bytes_.size() - kBytes);
  }
}

std::vector<std::string> Tail::lines() const {
  std::string_view text(bytes_);
  while (text.ends_with('\n') || text.ends_with('\r')) {
    text.remove_suffix(1);
  }
  std::vector<std::string> all = split(text, '\n');
  if (all.size() > kLines) {
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kLines));
  }
  for (std::string& line : all) {
    // Keep the last step of a progress bar, which is what a terminal would show.
    while (line.ends_with('\r')) {
      line.pop_back();
    }
    line.erase(0, line.rfind('\r') == std::string::npos ? 0 : line.rfind('\r') + 1);
    line = without_colours(line);
    shorten(line);
    line = valid_utf8(line);
  }
  return all;
}

// Error files of workers. Their content comes from outside: nothing about it is assumed.

namespace {

constexpr std::size_t kLongest = 1'000;

/// The error file as JSON; null when it is not a JSON object.
json::value parse(const std::string& content) {
  json::parse_options limits;
  limits.max_depth = 16;
  auto document = parse_object(content, limits);
  return document ? json::value(std::move(*document)) : json::value();
}

std::string first_line_of(const json::string& text) {
  const std::string_view lines = trim(std::string_view(text.data(), text.size()));
  return shortened(lines.substr(0, lines.find('\n')), kLongest);
}

}  // namespace

std::string read_error_file(const std::string& content) {
  const json::value document = parse(content);
  if (document.is_null()) {
    return {};
  }
  const json::value* message = document.get_object().if_contains("message");
  if (message != nullptr && message->is_object()) {
    message = message->get_object().if_contains("message");
  }
  return message != nullptr && message->is_string() ? first_line_of(message->get_string()) : std::string();
}

std::string pass_on_error_file(const std::string& content, int error_code) {
  json::value document = parse(content);
  json::value* const message = document.is_null() ? nullptr : document.get_object().if_contains("message");
  if (message == nullptr || !(message->is_string() || message->is_object())) {
    return {};
  }
  if (message->is_object() && error_code != 0) {
    message->get_object()["errorCode"] = error_code;
  }
  return json::serialize(document);
}

}  // namespace muster
