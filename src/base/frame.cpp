// Splits a byte stream into frames.
#include "base/frame.hpp"

#include <cassert>
#include <cstdint>
#include <limits>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr unsigned kByteBits = 8;

std::size_t read_length(std::string_view header) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) {
    length = (length << kByteBits) | static_cast<std::uint8_t>(header[i]);
  }
  return length;
}

}  // namespace

std::string frame(std::string_view payload) {
  assert(!payload.empty() && payload.size() <= std::numeric_limits<std::uint32_t>::max());
  std::string framed;
  framed.reserve(kHeaderBytes + payload.size());
  for (std::size_t i = kHeaderBytes; i-- > 0;) {
    framed += static_cast<char>((payload.size() >> (i * kByteBits)) & 0xFFU);
  }
  framed += payload;
  return framed;
}

void FrameReader::feed(std::string_view bytes) {
  bytes_.erase(0, std::exchange(taken_, 0));
  bytes_ += bytes;
}

Result<std::optional<std::string>> FrameReader::next() {
  const std::string_view rest = this->rest();
  if (rest.size() < kHeaderBytes) {
    return std::optional<std::string>();
  }
  const std::size_t length = read_length(rest);
  if (length == 0) {
    return Error{ErrorKind::BadData, "a message of no bytes"};
  }
  if (length > limit_) {
    return Error{ErrorKind::BadData,
                 "a message of " + std::to_string(length) + " bytes, expected at most " + std::to_string(limit_)};
  }
  if (rest.size() < kHeaderBytes + length) {
    return std::optional<std::string>();
  }
  std::optional<std::string> payload(rest.substr(kHeaderBytes, length));
  take(kHeaderBytes + length);
  return payload;
}

std::size_t FrameReader::wanted() const {
  const std::size_t length = rest().size() < kHeaderBytes ? 0 : read_length(rest());
  return kHeaderBytes + length - rest().size();
}

void FrameReader::take(std::size_t count) {
  taken_ += count;
  if (taken_ == bytes_.size()) {
    taken_ = 0;
    bytes_ = std::string();  // an idle link holds no memory
  }
}

}  // namespace muster
