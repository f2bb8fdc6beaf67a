// Runs programs of muster itself and talks to them over a socket.
#include "process/sidecars.hpp"

#include "process/inherited.hpp"
#include "process/socket_pair.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <functional>
#include <utility>

namespace muster {
namespace {

SpawnRequest request_of(const SidecarRequest& asked, std::map<std::string, std::string> variables, int input) {
  for (const auto& [name, value] : asked.environment) {
    variables[name] = value;
  }
  SpawnRequest request;
  request.executable = asked.executable;
  request.argv = asked.argv;
  request.environment = environment_entries(variables);
  request.standard_input = input;
  request.standard_output = STDERR_FILENO;
  request.standard_error = STDERR_FILENO;
  return request;
}

// A stream socket for each sidecar, read and written in the event loop.

using Socket = boost::asio::local::stream_protocol::socket;
using ErrorCode = boost::system::error_code;

/// The stream of a sidecar. Pending operations share its ownership.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(boost::asio::io_context& io, UniqueFd end, SidecarEvents events)
      : socket_(io, boost::asio::local::stream_protocol(), end.release()), events_(std::move(events)) {}

  void read() { socket_.async_wait(Socket::wait_read, std::bind_front(&Stream::on_readable, shared_from_this())); }

  /// Reads what is available. False: end of the stream.
  bool read_now() {
    const auto events = events_;  // a callback may close this
    std::array<char, std::size_t{64} << 10U> buffer;
    while (socket_.is_open()) {
      const ssize_t size = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
      }
      if (size <= 0) {
        return false;
      }
      events.on_bytes({buffer.data(), static_cast<std::size_t>(size)});
    }
    return true;
  }

  void send(std::string bytes) {
    outbox_.push_back(std::move(bytes));
    if (outbox_.size() == 1) {
      write();
    }
  }

  /// Closes the stream and stops all callbacks.
  void close() {
    events_ = {};
    ErrorCode ignored;  // closed in any case
    socket_.close(ignored);
  }

 private:
  void on_readable(const ErrorCode& error) {
    if (error || !socket_.is_open()) {
      return;  // closed by us
    }
    if (read_now()) {
      read();
    } else if (const auto events = events_; events.on_closed) {
      events.on_closed();
    }
  }

  void write() {
    boost::asio::async_write(socket_, boost::asio::buffer(outbox_.front()),
                             std::bind_front(&Stream::on_written, shared_from_this()));
  }

  void on_written(const ErrorCode& error, std::size_t /*size*/) {
    outbox_.pop_front();
    if (!error && !outbox_.empty()) {
      write();
    }  // otherwise reading reports the error
  }

  Socket socket_;
  SidecarEvents events_;
  std::deque<std::string> outbox_;
};

class RunningSidecar final : public Sidecar {
 public:
  explicit RunningSidecar(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  RunningSidecar(const RunningSidecar&) = delete;
  RunningSidecar& operator=(const RunningSidecar&) = delete;
  ~RunningSidecar() override { stream_->close(); }

  void send(std::string bytes) override { stream_->send(std::move(bytes)); }
  void read_now() override { stream_->read_now(); }

 private:
  std::shared_ptr<Stream> stream_;
};

}  // namespace

Sidecars::Sidecars(boost::asio::io_context& io, const Inherited& inherited,
                   const std::map<std::string, std::string>& variables, const std::string& marker)
    : io_(io), variables_(variables), marker_(add_marker(variables, marker)), spawner_(inherited) {}

std::map<std::string, std::string> Sidecars::environment() const {
  auto environment = variables_;
  environment[kMarkerVariable] = marker_;
  return environment;
}

Result<std::unique_ptr<Sidecar>> Sidecars::start(const SidecarRequest& request, SidecarEvents events) {
  auto [ours, theirs] = TRY(make_socket_pair());
  const auto spawned = TRY(spawner_.spawn(request_of(request, environment(), theirs.get())));
  pids_.insert(spawned.pid);
  auto stream = std::make_shared<Stream>(io_, std::move(ours), std::move(events));
  stream->read();
  return std::unique_ptr<Sidecar>(std::make_unique<RunningSidecar>(std::move(stream)));
}

}  // namespace muster
