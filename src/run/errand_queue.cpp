// The next one starts when the one before has answered, or its time was over.
#include "errand_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace muster {

void ErrandQueue::add(Piece piece) {
  pieces_.push_back(std::move(piece));
  if (pieces_.size() == 1) {
    start_first();
  }
}

void ErrandQueue::drop() {
  if (pieces_.empty()) {
    return;
  }
  const auto is_kept = [](const Piece& piece) { return !piece.may_be_dropped; };
  pieces_.erase(std::stable_partition(std::next(pieces_.begin()), pieces_.end(), is_kept),
                pieces_.end());
  if (pieces_.front().may_be_dropped) {
    errand_.shorten(std::chrono::milliseconds(0));
  }
}

void ErrandQueue::start_first() {
  const Piece& first = pieces_.front();
  errand_.start({first.work, {}}, first.most_time, [this](const Errand::Answer& answer) {
    const auto then = std::move(pieces_.front().then);
    pieces_.pop_front();
    if (!pieces_.empty()) {
      start_first();
    }
    then(answer);
    if (pieces_.empty()) {
      on_empty();
    }
  });
}

}  // namespace muster
