#pragma once

// Where one message ends and the next begins: four bytes of length, the most significant first,
// then that many bytes. Bytes in, messages out: no socket.

#include "base/result.hpp"

#include <cstddef>
#include <deque>
#include <memory>
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

// What waits to be sent over one link. Pure: no socket.

/// Frames in the order in which they are sent. *Bulk* is what may be large in all: pieces of values, and
/// what many links are sent, which they all share.
class Outbox {
 public:
  using Frame = std::shared_ptr<const std::string>;

  void add(std::string frame);
  void add_bulk(Frame frame);
  /// Overtakes bulk, but not a frame of which some is under way.
  void add_before_bulk(std::string frame);

  [[nodiscard]] bool is_empty() const { return first_.empty() && behind_.empty(); }
  /// The next bytes, at most so many; some unless it is empty. To be taken by `pop`.
  [[nodiscard]] std::string_view next(std::size_t most) const;
  void pop(std::size_t count);
  void clear();

  /// Bytes that wait.
  [[nodiscard]] std::size_t bulk() const { return bulk_; }
  [[nodiscard]] std::size_t other() const { return other_; }
  /// Frames that wait and overtake bulk.
  [[nodiscard]] std::size_t overtaking() const { return overtaking_; }

 private:
  struct Waiting {
    Frame frame;
    bool is_bulk = false;
    bool overtakes = false;
  };

  void begin_bulk();

  /// Each frame is added and taken in constant time, however many wait: a peer that does not read makes nobody slow.
  std::deque<Waiting> first_;   ///< before the next bulk
  std::deque<Waiting> behind_;  ///< begins with bulk, if there is any
  std::size_t taken_ = 0;       ///< of the next frame
  std::size_t bulk_ = 0;
  std::size_t other_ = 0;
  std::size_t overtaking_ = 0;
};

}  // namespace muster::gang
