// A pipe whose reader may be slow, or gone.
#include "remote/node_input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace muster {

Result<UniqueFd> StdinPipe::open() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return system_error("cannot make a pipe", errno);
  }
  UniqueFd read_end(ends[0]);
  (void)::fcntl(ends[1], F_SETFL, O_NONBLOCK);  // the writing end is ours alone
  pipe_.assign(ends[1]);
  return read_end;
}

void StdinPipe::write(std::string_view bytes) {
  if (pipe_.is_open()) {
    queue_ += bytes;
    flush();
  }
}

void StdinPipe::flush() {
  while (!queue_.empty()) {
    const ssize_t taken = ::write(pipe_.native_handle(), queue_.data(), queue_.size());
    if (taken > 0) {
      queue_.erase(0, static_cast<std::size_t>(taken));
    } else if (taken < 0 && errno == EAGAIN) {
      break;
    } else if (taken < 0 && errno != EINTR) {
      close();
      return;
    }
  }
  if (queue_.empty() || waits_) {
    return;
  }
  waits_ = true;
  pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                   [this](const boost::system::error_code& error) {
                     waits_ = false;
                     if (!error) {
                       flush();
                     }
                   });
}

void StdinPipe::close() {
  queue_.clear();
  boost::system::error_code ignored;  // nobody reads what is left
  pipe_.close(ignored);
}

}  // namespace muster
