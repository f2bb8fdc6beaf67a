// Frames: "KIND LENGTH", a line end, and so many bytes.
#include "base/text.hpp"
#include "remote/frames.hpp"

#include <algorithm>

namespace muster {
namespace {

constexpr std::size_t kLongestHeader = 64;

Error no_frame(std::string_view bytes) {
  return Error{ErrorKind::BadData,
               "standard input says '" + one_line(bytes, kLongestHeader) +
                   "', expected what the front of a job sends"};
}

}  // namespace

std::string write_frame(const Frame& frame) {
  return frame.kind + " " + std::to_string(frame.bytes.size()) + "\n" + frame.bytes;
}

Result<std::optional<FrameReader::Header>> FrameReader::read_header() const {
  const std::size_t end = bytes_.find('\n');
  if (end == std::string::npos) {
    return bytes_.size() < kLongestHeader ? Result<std::optional<Header>>(std::optional<Header>())
                                          : no_frame(bytes_);
  }
  const std::string_view line = std::string_view(bytes_).substr(0, end);
  const std::size_t blank = line.find(' ');
  const auto size = blank == std::string_view::npos
                        ? std::nullopt
                        : parse_integer(line.substr(blank + 1), 0, static_cast<int>(kLongest));
  if (!size || blank == 0) {
    return no_frame(line);
  }
  return std::optional<Header>(
      Header{std::string(line.substr(0, blank)), static_cast<std::size_t>(*size), end + 1});
}

Result<std::optional<Frame>> FrameReader::next() {
  const auto header = read_header();
  if (!header) {
    return header.error();
  }
  if (!*header || bytes_.size() < (*header)->length + (*header)->size) {
    return std::optional<Frame>();
  }
  const auto& [kind, size, length] = **header;
  Frame frame{kind, bytes_.substr(length, size)};
  bytes_.erase(0, length + size);
  return frame;
}

std::size_t FrameReader::wanted() const {
  const auto header = read_header();
  const bool is_known = header && *header;
  return is_known ? std::max<std::size_t>((*header)->length + (*header)->size - bytes_.size(), 1)
                  : 1;
}

}  // namespace muster
