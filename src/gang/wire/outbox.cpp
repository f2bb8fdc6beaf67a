// Frames in their order: see the header.
#include "outbox.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

void Outbox::add(std::string frame) {
  other_ += frame.size();
  frames_.push_back({std::make_shared<const std::string>(std::move(frame)), false});
}

void Outbox::add_bulk(Frame frame) {
  bulk_ += frame->size();
  frames_.push_back({std::move(frame), true});
}

void Outbox::add_before_bulk(std::string frame) {
  other_ += frame.size();
  const auto at = std::find_if(frames_.begin() + (taken_ > 0 ? 1 : 0),
                               frames_.end(),
                               [](const Waiting& waiting) { return waiting.is_bulk; });
  frames_.insert(at, {std::make_shared<const std::string>(std::move(frame)), false});
}

std::string_view Outbox::next(std::size_t most) const {
  return frames_.empty() ? std::string_view()
                         : std::string_view(*frames_.front().frame).substr(taken_, most);
}

void Outbox::pop(std::size_t count) {
  taken_ += count;
  (frames_.front().is_bulk ? bulk_ : other_) -= count;
  if (taken_ == frames_.front().frame->size()) {
    taken_ = 0;
    frames_.pop_front();
  }
  if (frames_.empty()) {
    clear();
  }
}

/// An idle link holds no memory.
void Outbox::clear() {
  std::exchange(frames_, {});
  taken_ = other_ = bulk_ = 0;
}

}  // namespace muster::gang
