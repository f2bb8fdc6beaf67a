// The answer comes through a pipe, and is whole when the pipe has ended.
#include "process/errand.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace muster {

void HelperTask::start(const Work& work,
                       std::chrono::milliseconds most_time,
                       std::function<void(Answer)> then) {
  end();
  then_ = std::move(then);
  if (!start_aside(work)) {
    boost::asio::post(
        io_, [answer = work.work(), called = std::exchange(then_, {})] { called(answer); });
    return;
  }
  shorten(most_time);
  read();
}

Result<> HelperTask::start_aside(const Work& work) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return system_error("cannot make a pipe", errno);
  }
  UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  std::vector<int> kept = work.kept;
  kept.push_back(write_end.get());
  const auto pid =
      helpers_.start(kept, [&work, fd = write_end.get()] { send_answer(fd, work.work()); });
  if (!pid) {
    return pid.error();
  }
  pid_ = *pid;
  answer_.clear();
  pipe_.assign(read_end.release());
  return {};
}

void HelperTask::shorten(std::chrono::milliseconds most_time) {
  if (!then_) {
    return;
  }
  starved_until_ = std::chrono::steady_clock::now() + most_time + kExtraTimeForRunnable;
  give_up_after(most_time);
}

void HelperTask::give_up_after(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([this, number = ++wait_](const boost::system::error_code& error) {
    if (error || number != wait_) {  // it may have been over just before it was cancelled
      return;
    }
    // What hangs in a file sleeps.
    if (std::chrono::steady_clock::now() < starved_until_ && is_runnable(*pid_)) {
      give_up_after(kPollInterval);
    } else {
      finish(std::nullopt);
    }
  });
}

void HelperTask::read() {
  pipe_.async_read_some(
      boost::asio::buffer(buffer_),
      [this, number = run_](const boost::system::error_code& error, std::size_t count) {
        if (error == boost::asio::error::operation_aborted || number != run_) {
          return;
        }
        answer_.append(buffer_.data(), count);
        if (error) {
          finish(whole_answer(std::move(answer_)));
        } else {
          read();
        }
      });
}

void HelperTask::finish(Answer answer) {
  const auto called = std::exchange(then_, {});
  end();
  if (called) {
    called(std::move(answer));
  }
}

void HelperTask::end() {
  then_ = {};
  ++run_;
  ++wait_;
  timer_.cancel();
  boost::system::error_code ignored;  // nothing is written to it, so nothing can be lost in closing
  pipe_.close(ignored);
  end_process();
}

/// One that hangs in a file is left: it ends when what it hangs in ends.
void HelperTask::end_process() {
  if (pid_) {
    helpers_.end(*std::exchange(pid_, std::nullopt));
  }
}

}  // namespace muster
