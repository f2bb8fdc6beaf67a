// The next one starts when the one before has answered, or its time was over.
#include "process/errand_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace muster {

void HelperTaskQueue::add(Task task) {
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) {
    start_first();
  }
}

void HelperTaskQueue::drop() {
  if (tasks_.empty()) {
    return;
  }
  const auto is_kept = [](const Task& task) { return !task.may_be_dropped; };
  tasks_.erase(std::stable_partition(std::next(tasks_.begin()), tasks_.end(), is_kept),
               tasks_.end());
  if (tasks_.front().may_be_dropped) {
    errand_.shorten(std::chrono::milliseconds(0));
  }
}

void HelperTaskQueue::start_first() {
  const Task& first = tasks_.front();
  errand_.start({first.work, {}}, first.most_time, [this](const HelperTask::Answer& answer) {
    const auto then = std::move(tasks_.front().then);
    tasks_.pop_front();
    if (!tasks_.empty()) {
      start_first();
    }
    then(answer);
    if (tasks_.empty()) {
      on_empty();
    }
  });
}

}  // namespace muster
