// Makes the process of a writer, and speaks with it.
#include "output/file_writer.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace muster {
namespace {

/// What a process that is not hanging needs to write the rest and to close its files: on other machines
/// they may be seen only then.
constexpr std::chrono::milliseconds kTimeToClose{200};

struct PipeEnds {
  UniqueFd read;
  UniqueFd write;
};

Result<PipeEnds> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return system_error("cannot make a pipe", errno);
  }
  return PipeEnds{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<std::unique_ptr<WriterProcess>> WriterProcess::start(
    boost::asio::io_context& io,
    HelperProcesses& helpers,
    std::optional<int> kept,
    const std::function<void(const WriterChannel&)>& work) {
  auto ring = SharedRingBuffer::make();
  if (!ring) {
    return ring.error();
  }
  auto bell = make_pipe();
  auto news = make_pipe();
  if (!bell || !news) {
    return bell ? news.error() : bell.error();
  }
  const WriterChannel ends{*ring, bell->read.get(), news->write.get()};
  std::vector<int> descriptors = {ends.bell, ends.news};
  if (kept) {
    descriptors.push_back(*kept);
  }
  const auto pid = helpers.start(descriptors, [&] { work(ends); });
  if (!pid) {
    return pid.error();
  }
  (void)::fcntl(bell->write.get(), F_SETFL, O_NONBLOCK);
  (void)::fcntl(news->read.get(), F_SETFL, O_NONBLOCK);
  return std::unique_ptr<WriterProcess>(new WriterProcess(
      io, helpers, Parts{std::move(*ring), std::move(bell->write), std::move(news->read), *pid}));
}

WriterProcess::WriterProcess(boost::asio::io_context& io, HelperProcesses& helpers, Parts parts)
    : io_(io),
      helpers_(helpers),
      ring_(std::move(parts.ring)),
      signal_notifier_(std::move(parts.bell)),
      news_(io, parts.news.release()),
      pid_(parts.pid) {
  listen();
}

WriterProcess::~WriterProcess() {
  end_process(kTimeToClose);
}

ssize_t WriterProcess::write_some(std::string_view bytes) {
  const std::size_t count = failure_ == 0 ? ring_.put(bytes) : 0;
  if (count == 0) {
    errno = failure_ == 0 ? EAGAIN : failure_;
    return -1;
  }
  if (ring_.taker_sleeps().exchange(false)) {
    (void)::write(signal_notifier_.get(), "", 1);  // full: it has not read the last one, and will
  }
  return static_cast<ssize_t>(count);
}

void WriterProcess::when_ready(std::function<void()> then) {
  waiting_ = std::move(then);
  ring_.putter_waits() = true;
  if (has_written_all() || failure_ != 0) {  // before the flag was set: nothing more would be told
    call_soon();
  }
}

void WriterProcess::call_soon() {
  boost::asio::post(io_, [this, lives = std::weak_ptr<bool>(lives_)] {
    if (!lives.expired()) {
      call_who_waits();
    }
  });
}

void WriterProcess::call_who_waits() {
  if (const auto then = std::exchange(waiting_, {})) {
    then();
  }
}

void WriterProcess::listen() {
  news_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](const boost::system::error_code& error) {
                     if (!error) {
                       read_news();
                     }
                   });
}

void WriterProcess::read_news() {
  if (take_all_news()) {
    listen();
  }
}

/// False: nothing more will come.
bool WriterProcess::take_all_news() {
  WriterStatus news;
  ssize_t size = -1;
  while (news_.is_open() &&
         (size = ::read(news_.native_handle(), &news, sizeof news)) == sizeof news) {
    take(news);
  }
  if (news_.is_open() && size == 0) {
    failure_ = failure_ != 0 ? failure_ : ESRCH;  // somebody has killed it
    call_who_waits();
  }
  return news_.is_open() && size != 0;  // else whoever was called has closed it
}

void WriterProcess::take(const WriterStatus& news) {
  if (news.kind == WriterStatus::Kind::Progress) {
    call_who_waits();
  } else if (on_news) {
    on_news(news);
  } else {
    failure_ = news.error_number;
    call_who_waits();
  }
}

/// It ends by itself when nobody can ring any more, and is killed when that takes too long.
void WriterProcess::end_process(std::chrono::milliseconds patience) {
  if (!news_.is_open()) {
    return;
  }
  signal_notifier_.reset();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  WriterStatus news;
  ssize_t size = -1;
  while (size != 0 && patience.count() > 0) {
    pollfd end{news_.native_handle(), POLLIN, 0};
    (void)::poll(&end, 1, static_cast<int>(patience.count()));
    size = ::read(news_.native_handle(), &news, sizeof news);
    patience = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
  }
  helpers_.end(pid_);
  boost::system::error_code ignored;  // nothing is written to it, so nothing can be lost in closing
  news_.close(ignored);
}

std::uint64_t WriterProcess::give_up() {
  const std::uint64_t lines = ring_.lines();
  waiting_ = {};
  failure_ = ETIMEDOUT;
  end_process({});
  return lines;
}

}  // namespace muster
