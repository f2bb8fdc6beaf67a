#pragma once

// Where one message ends and the next begins: four bytes of length, the most significant first,
// then that many bytes. Bytes in, messages out: no socket.

#include "base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::gang {

/// The payload with its length before it. It must not be empty and is at most kMostMessageBytes.
[[nodiscard]] std::string frame(std::string_view payload);

/// Takes payloads out of a stream of bytes that a stranger may have sent.
///
/// It holds no more than what was fed and not taken: who announces a large frame and sends nothing
/// costs nothing. After each `feed` call `next` until it is empty.
class FrameReader {
 public:
  /// `limit` is the longest payload that is accepted.
  explicit FrameReader(std::size_t limit) : limit_(limit) {}

  /// For the frames that have not been taken yet.
  void set_limit(std::size_t limit) { limit_ = limit; }

  void feed(std::string_view bytes);

  /// The next payload; empty: more bytes are needed. Fails with `BadData` when a frame is empty or
  /// too long, and forever after, because nobody knows where the next one would begin.
  [[nodiscard]] Result<std::optional<std::string>> next();

  /// Bytes that were fed and not taken.
  [[nodiscard]] std::size_t waiting() const { return bytes_.size() - taken_; }

 private:
  void take(std::size_t count);

  std::size_t limit_;
  std::size_t taken_ = 0;  ///< at the front of `bytes_`
  std::string bytes_;
};

}  // namespace muster::gang
