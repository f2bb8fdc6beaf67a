#pragma once

// The send queue of a link. Pure: no socket.

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace muster::gang {

/// Send queue of one link. *Bulk* frames may be large together: chunks of values, and frames that many links share.
class Outbox {
 public:
  using Frame = std::shared_ptr<const std::string>;

  void add(std::string frame);
  void add_bulk(Frame frame);
  /// Queues a frame before all bulk frames, but after one of them that is partly sent.
  void add_before_bulk(std::string frame);

  bool is_empty() const { return first_.empty() && behind_.empty(); }
  /// Returns the next bytes, at most `most`, and at least one unless the queue is empty. `pop` removes them.
  std::string_view next(std::size_t most) const;
  void pop(std::size_t count);
  void clear();

  /// Queued bytes.
  std::size_t bulk() const { return bulk_; }
  std::size_t other() const { return other_; }
  /// Number of queued frames that overtake bulk frames.
  std::size_t overtaking() const { return overtaking_; }

 private:
  struct Waiting {
    Frame frame;
    bool is_bulk = false;
    bool overtakes = false;
  };

  /// Frames are added and taken in constant time, however long the queue: a peer that does not read slows no other
  /// link down. Lists, because an empty deque takes 576 bytes, and most of ten thousand links are idle.
  std::list<Waiting> first_;   ///< sent before the next bulk
  std::list<Waiting> behind_;  ///< begins with bulk unless empty
  std::size_t taken_ = 0;      ///< bytes of the next frame that were sent
  std::size_t bulk_ = 0;
  std::size_t other_ = 0;
  std::size_t overtaking_ = 0;
};

}  // namespace muster::gang
