#pragma once

// Frames messages: four bytes of length in big-endian order, then the payload. Pure: no descriptor.

#include "base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Returns the payload with its length before it. The payload has a byte at least.
std::string frame(std::string_view payload);

/// Extracts payloads from a byte stream of an untrusted sender.
///
/// Stores no more than the bytes that were fed and not taken, so announcing a large frame costs the receiver nothing.
/// After each `feed`, call `next` until it is empty.
class FrameReader {
 public:
  /// `limit` is the longest accepted payload in bytes.
  explicit FrameReader(std::size_t limit) : limit_(limit) {}

  /// Applies to frames that have not been taken yet.
  void set_limit(std::size_t limit) { limit_ = limit; }

  void feed(std::string_view bytes);

  /// Returns the next payload; empty: more bytes are needed. Fails with `BadData` if a frame is empty or too long,
  /// and on every later call: the start of the next frame is unknown.
  [[nodiscard]] Result<std::optional<std::string>> next();

  /// After `next` was empty: how many bytes the length or the payload lacks. A caller that reads no more leaves what
  /// follows the frame in the stream.
  std::size_t wanted() const;

  /// Bytes that were fed and not taken.
  std::string_view rest() const { return std::string_view(bytes_).substr(taken_); }

 private:
  void take(std::size_t count);

  std::size_t limit_;
  std::size_t taken_ = 0;  ///< offset in `bytes_`
  std::string bytes_;
};

}  // namespace muster
