// Implements the messages between the store's process and the agent, and both ends of their link. A message is a JSON
// object in a frame, and has the members of its type.
#include "services/torch_store/store_process.hpp"

#include "base/json.hpp"
#include "base/log.hpp"
#include "gang/net/listener.hpp"
#include "process/socket_pair.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/describe/class.hpp>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace muster::store {

BOOST_DESCRIBE_STRUCT(Process, (), (address, pid))
BOOST_DESCRIBE_STRUCT(AwaitedKey, (), (key, clients, processes))
BOOST_DESCRIBE_STRUCT(AwaitedKeys, (), (keys, are_all))

}  // namespace muster::store

namespace muster {

BOOST_DESCRIBE_STRUCT(StoreNotice, (), (text))
BOOST_DESCRIBE_STRUCT(StoreEnd, (), (why))
BOOST_DESCRIBE_STRUCT(StoreStatus, (), (init_barrier, expected, is_complete, arrived))

std::string write_message(const StoreMessage& message) {
  json::value document = json::value_from(message);
  make_valid_utf8(document);
  return frame(json::serialize(document));
}

Result<StoreMessage> read_message(std::string_view payload) {
  boost::system::error_code wrong;
  const json::value document = json::parse(payload, wrong);  // null if it is wrong
  auto message = json::try_value_to<StoreMessage>(document);
  if (!message) {
    return Error{ErrorKind::BadData,
                 "the store's process has sent an unknown message: " + (wrong ? wrong : message.error()).message()};
  }
  return *std::move(message);
}

// The process's end: messages are buffered until the agent reads them.

AgentLink::AgentLink(Poller& poller, int agent, std::uint64_t number)
    : poller_(poller), agent_(agent), number_(number) {
  poller_.add(agent_, number_, EPOLLIN);
}

void AgentLink::send(const StoreMessage& message) {
  const bool is_first = unread_.empty();
  unread_ += write_message(message);
  if (is_first) {
    write();
  }
}

void AgentLink::warn(const std::string& text) {
  constexpr int kMostWarnings = 16;
  if (++warnings_ <= kMostWarnings) {
    send(StoreNotice{text + (warnings_ < kMostWarnings ? "" : " (the last message of this kind)")});
  }
}

std::string AgentLink::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    write();
  }
  std::array<char, 16> asked{};
  const ssize_t size = ::recv(agent_, asked.data(), asked.size(), MSG_DONTWAIT);
  is_over_ = size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
  return {asked.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// Ignores errors: reading reports them as well.
void AgentLink::write() {
  const ssize_t size = ::send(agent_, unread_.data(), unread_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  unread_.erase(0, static_cast<std::size_t>(size > 0 ? size : 0));
  poller_.change(agent_, number_, unread_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

// The agent's end. The process inherits the listening socket; messages go through a socket pair.

namespace {

/// Limit of the address space: stored data, incomplete requests (docs/gang.md), clients' buffers, and the process.
constexpr rlim_t kMostMemory = rlim_t{2} << 30U;

}  // namespace

Result<> StoreProcess::listen(std::uint16_t port) {
  end();
  auto socket = gang::listen_everywhere(port);
  if (!socket) {
    const std::string holder = socket.error().is_in_use ? gang::describe_port_holder(port) : std::string();
    Error error = socket.error().error;
    error.message += holder.empty() ? "" : ", which " + holder + " has";
    error.message += socket.error().is_in_use ? "; give another one by --master-port or --worker-port" : "";
    return error;
  }
  listener_.assign(socket->fd.release());
  return {};
}

void StoreProcess::serve(StoreJob job, StoreEvents events) {
  job_ = std::move(job);
  events_ = std::move(events);
  listener_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       scope_.wrap(std::bind_front(&StoreProcess::on_first_client, this)));
}

void StoreProcess::on_first_client(const ErrorCode& error) {
  if (error) {
    return;
  }
  if (const auto started = start_process(); !started) {
    fail(started.error());
  }
}

Result<> StoreProcess::start_process() {
  auto [ours, theirs] = TRY(make_socket_pair());
  const StoreChannel store_ends{listener_.native_handle(), theirs.get()};
  const auto pid = helpers_.start({store_ends.listener, store_ends.agent}, [&] {
    (void)::prctl(PR_SET_NAME, "muster-store");
    // Makes the store fail alone before it takes the memory of the ranks.
#ifndef __SANITIZE_ADDRESS__  // which maps terabytes of its own
    const rlimit limit{kMostMemory, kMostMemory};
    (void)::setrlimit(RLIMIT_AS, &limit);
#endif
    serve_store(store_ends, job_);
  });
  if (!pid) {
    return pid.error();
  }
  pid_ = *pid;
  served_ = UniqueFd(listener_.release());
  log_debug("the store's process is pid " + std::to_string(*pid));
  stream_.assign(ours.release());
  frames_ = FrameReader(kMostMessageSize);
  read();
  return {};
}

void StoreProcess::read() {
  stream_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     scope_.wrap(std::bind_front(&StoreProcess::on_readable, this)));
}

void StoreProcess::on_readable(const ErrorCode& /*error*/) {
  std::array<char, std::size_t{16} << 10U> buffer;
  ErrorCode error;
  const std::size_t size = stream_.read_some(boost::asio::buffer(buffer), error);
  if (error) {
    fail({ErrorKind::System, "its process has ended"});
    return;
  }
  frames_.feed({buffer.data(), size});
  if (const auto taken = take_all(); !taken) {
    fail(taken.error());
  } else if (stream_.is_open()) {
    read();
  }
}

Result<> StoreProcess::take_all() {
  while (stream_.is_open()) {
    const auto payload = TRY(frames_.next());
    if (!payload) {
      break;
    }
    const auto message = TRY(read_message(*payload));
    take(message);
  }
  return {};
}

void StoreProcess::take(const StoreMessage& message) {
  if (const auto* const notice = std::get_if<StoreNotice>(&message)) {
    log_warning(notice->text);
  } else if (const auto* const end = std::get_if<StoreEnd>(&message)) {
    fail({ErrorKind::System, end->why});
  } else if (const auto* const awaited = std::get_if<store::AwaitedKeys>(&message)) {
    report_waiting_ranks(*awaited);
  } else {
    const auto& status = std::get<StoreStatus>(message);
    if (status.is_complete) {
      later_.cancel();  // so that an idle job has no wakeups
    }
    if (events_.on_status) {
      events_.on_status(status);
    }
  }
}

void StoreProcess::request_status_after(std::chrono::seconds delay) {
  later_.start(delay, [this] { ask(kWhoArrived); });
}

void StoreProcess::ask(char what) {
  if (pid_) {
    (void)::send(stream_.native_handle(), &what, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

bool StoreProcess::request_waiting_ranks(std::function<void(const store::AwaitedKeys&)> then) {
  if (!pid_) {
    return false;
  }
  asked_.push_back(std::move(then));
  ask(kWhoWaits);
  timeout_.ask();
  return true;
}

void StoreProcess::report_waiting_ranks(const store::AwaitedKeys& awaited) {
  timeout_.cancel();
  for (const auto& then : std::exchange(asked_, {})) {
    then(awaited);
  }
}

void StoreProcess::fail(const Error& why) {
  const StoreEvents events = events_;
  end();
  if (events.on_failure) {
    events.on_failure(why);
  } else {  // the workers of this node, and its part in the attempt, have ended
    log_error("the store of the ranks, which others may still need, has ended: " + why.message);
  }
}

void StoreProcess::end() {
  scope_.end();
  events_ = {};
  later_.cancel();
  ErrorCode ignored;  // the stream is closed in any case
  stream_.close(ignored);
  if (listener_.is_open()) {
    served_ = UniqueFd(listener_.release());
  }
  if (served_) {
    (void)::shutdown(served_.get(),
                     SHUT_RDWR);  // the process has the socket as well, and may live on for a moment
    served_.reset();
  }
  if (pid_) {
    helpers_.end(*std::exchange(pid_, std::nullopt));
  }
  report_waiting_ranks({});
}

}  // namespace muster
