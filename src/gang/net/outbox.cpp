// Orders the frames that wait for a link.
#include "gang/net/outbox.hpp"

#include <utility>

namespace muster::gang {

void Outbox::add(std::string frame) {
  other_ += frame.size();
  std::list<Waiting>& frames = behind_.empty() ? first_ : behind_;
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
  const std::list<Waiting>& frames = first_.empty() ? behind_ : first_;
  return frames.empty() ? std::string_view() : std::string_view(*frames.front().frame).substr(taken_, most);
}

void Outbox::pop(std::size_t count) {
  if (first_.empty()) {
    // Starts to send the next bulk frame. No later frame overtakes a partly sent frame, nor the frames between it and
    // the next bulk.
    do {
      first_.push_back(std::move(behind_.front()));
      behind_.pop_front();
    } while (!behind_.empty() && !behind_.front().is_bulk);
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

/// An idle link holds no memory.
void Outbox::clear() {
  std::exchange(first_, {});
  std::exchange(behind_, {});
  taken_ = other_ = bulk_ = overtaking_ = 0;
}

}  // namespace muster::gang
