// Splits a byte stream into frames, and orders the frames that wait for a link.
#include "gang/net/frame.hpp"

#include "gang/protocol/message_encoding.hpp"

#include <cassert>
#include <cstdint>
#include <utility>

namespace muster::gang {
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
  assert(!payload.empty() && payload.size() <= kMostMessageBytes);
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
  const std::string_view rest = std::string_view(bytes_).substr(taken_);
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

void FrameReader::take(std::size_t count) {
  taken_ += count;
  if (taken_ == bytes_.size()) {
    taken_ = 0;
    bytes_ = std::string();  // an idle link holds no memory
  }
}

void Outbox::add(std::string frame) {
  other_ += frame.size();
  std::deque<Waiting>& frames = behind_.empty() ? first_ : behind_;
  frames.push_back({std::make_shared<const std::string>(std::move(frame)), false});
}

void Outbox::add_bulk(Frame frame) {
  bulk_ += frame->size();
  behind_.push_back({std::move(frame), true});
}

void Outbox::add_before_bulk(std::string frame) {
  other_ += frame.size();
  ++overtaking_;
  first_.push_back({std::make_shared<const std::string>(std::move(frame)), false, true});
}

std::string_view Outbox::next(std::size_t most) const {
  const std::deque<Waiting>& frames = first_.empty() ? behind_ : first_;
  return frames.empty() ? std::string_view() : std::string_view(*frames.front().frame).substr(taken_, most);
}

void Outbox::pop(std::size_t count) {
  if (first_.empty()) {
    begin_bulk();
  }
  taken_ += count;
  (first_.front().is_bulk ? bulk_ : other_) -= count;
  if (taken_ == first_.front().frame->size()) {
    taken_ = 0;
    overtaking_ -= first_.front().overtakes ? 1 : 0;
    first_.pop_front();
  }
  if (is_empty()) {
    clear();
  }
}

/// Starts to send the next bulk frame. No later frame overtakes a partly sent frame, nor the frames between it and
/// the next bulk.
void Outbox::begin_bulk() {
  do {
    first_.push_back(std::move(behind_.front()));
    behind_.pop_front();
  } while (!behind_.empty() && !behind_.front().is_bulk);
}

/// An idle link holds no memory.
void Outbox::clear() {
  std::exchange(first_, {});
  std::exchange(behind_, {});
  taken_ = other_ = bulk_ = overtaking_ = 0;
}

}  // namespace muster::gang
