// The listening socket is shared with the process; what they say to each other goes through a pair of sockets.
#include "store_port.hpp"

#include "store_process.hpp"

#include <muster/gang/listener.hpp>
#include <muster/logs/messages.hpp>

#include <boost/asio/buffer.hpp>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace muster {
namespace {

/// Of address space: what the store keeps of keys and of unfinished requests (docs/gang.md), its clients' buffers, and ours.
constexpr rlim_t kMostMemory = rlim_t{2} << 30U;

/// It ends alone where it would take the memory of the ranks.
void limit_memory() {
#ifndef __SANITIZE_ADDRESS__  // which has terabytes of its own
  const rlimit limit{kMostMemory, kMostMemory};
  (void)::setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace

Result<> StorePort::listen(std::uint16_t port) {
  end();
  auto socket = gang::listen_everywhere(port);
  if (!socket) {
    const std::string holder =
        socket.error().is_in_use ? gang::describe_port_holder(port) : std::string();
    Error error = socket.error().error;
    error.message += holder.empty() ? "" : ", which " + holder + " has";
    return error;
  }
  listener_.assign(socket->fd.release());
  return {};
}

void StorePort::serve(StoreJob job, StoreEvents events) {
  job_ = std::move(job);
  events_ = std::move(events);
  listener_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [this, run = run_](const ErrorCode& error) { on_first_client(error, run); });
}

void StorePort::on_first_client(const ErrorCode& error, std::uint64_t run) {
  if (error || run != run_) {
    return;
  }
  if (const auto started = start_process(); !started) {
    fail(started.error());
  }
}

Result<> StorePort::start_process() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_error("cannot make a pair of sockets", errno);
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const StoreEnds store_ends{listener_.native_handle(), theirs.get()};
  const auto pid = asides_.start({store_ends.listener, store_ends.agent}, [&] {
    (void)::prctl(PR_SET_NAME, "muster-store");
    limit_memory();
    serve_store(store_ends, job_);
  });
  if (!pid) {
    return pid.error();
  }
  pid_ = *pid;
  served_ = UniqueFd(listener_.release());
  say_debug("the store's process is pid " + std::to_string(*pid));
  stream_.assign(ours.release());
  lines_ = {};
  read();
  return {};
}

void StorePort::read() {
  stream_.async_read_some(boost::asio::buffer(buffer_),
                          [this, run = run_](const ErrorCode& error, std::size_t size) {
                            if (run == run_) {
                              on_bytes(error, size);
                            }
                          });
}

void StorePort::on_bytes(const ErrorCode& error, std::size_t size) {
  if (error) {
    fail({ErrorKind::System, "its process has ended"});
    return;
  }
  const auto lines = lines_.feed({buffer_.data(), size});
  if (!lines) {
    fail(lines.error());
    return;
  }
  for (const StoreLine& line : *lines) {
    take(line);
  }
  if (stream_.is_open()) {
    read();
  }
}

void StorePort::take(const StoreLine& line) {
  if (const auto* const remark = std::get_if<StoreRemark>(&line)) {
    say_warning(remark->text);
  } else if (const auto* const end = std::get_if<StoreEnd>(&line)) {
    fail({ErrorKind::System, end->why});
  } else if (const auto* const awaited = std::get_if<store::AwaitedKeys>(&line)) {
    tell_who_waits(*awaited);
  } else {
    const auto& news = std::get<StoreNews>(line);
    if (news.is_complete) {
      later_.cancel();  // an idle job sleeps
    }
    if (events_.on_news) {
      events_.on_news(news);
    }
  }
}

void StorePort::ask_later(std::chrono::seconds delay) {
  later_.expires_after(delay);
  later_.async_wait([this, run = run_](const ErrorCode& error) {
    if (!error && run == run_) {
      ask(kWhoArrived);
    }
  });
}

void StorePort::ask(char what) {
  if (pid_) {
    (void)::send(stream_.native_handle(), &what, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

void StorePort::ask_who_waits() {
  if (pid_) {
    ask(kWhoWaits);
    patience_.ask();
  }
}

void StorePort::tell_who_waits(const store::AwaitedKeys& awaited) {
  patience_.cancel();
  if (on_awaited) {
    on_awaited(awaited);
  }
}

void StorePort::fail(const Error& why) {
  const StoreEvents events = events_;
  if (patience_.is_asked_for()) {
    tell_who_waits({});
  }
  end();
  if (events.on_failure) {
    events.on_failure(why);
  } else {  // the workers of this node have ended, and their node with them
    say_error("the store of the ranks, which others may still need, has ended: " + why.message);
  }
}

void StorePort::end() {
  ++run_;
  events_ = {};
  later_.cancel();
  patience_.cancel();
  ErrorCode ignored;  // they are gone in any case
  stream_.close(ignored);
  if (listener_.is_open()) {
    served_ = UniqueFd(listener_.release());
  }
  if (served_) {
    (void)::shutdown(served_.get(),
                     SHUT_RDWR);  // the process has it as well, and may live on for a moment
    served_.reset();
  }
  if (pid_) {
    asides_.end(*std::exchange(pid_, std::nullopt));
  }
}

}  // namespace muster
