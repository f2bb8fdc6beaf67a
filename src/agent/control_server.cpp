// Serves clients of the control socket: a line in, a line out, one request at a time.
#include "agent/control_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

namespace muster {
namespace {

using ErrorCode = boost::system::error_code;

/// Limit of the clients. A further client replaces the oldest one that has no request pending; if all have one, it
/// waits in the kernel's queue.
constexpr std::size_t kMostControlClients = 16;
/// Time for a client to send a whole request, and to take the answer.
constexpr std::chrono::seconds kClientTimeout{5};
/// Limit for an answer, which may need all nodes of the job.
constexpr std::chrono::seconds kMostWork{15};
/// Pause before a client's next request, if the client has sent it already.
constexpr std::chrono::milliseconds kPause{20};

/// The peer's credentials; without them an invalid uid, which matches no user.
ucred credentials_of(int fd) {
  ucred credentials{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  socklen_t size = sizeof(credentials);
  (void)::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
  return credentials;
}

}  // namespace

class ControlServer::Client : public std::enable_shared_from_this<Client> {
 public:
  Client(ControlServer& server, Protocol::socket socket)
      : server_(&server),
        socket_(std::move(socket)),
        timer_(server.io_),
        credentials_(credentials_of(socket_.native_handle())) {}

  /// A request is pending.
  bool is_waiting() const { return is_waiting_; }

  void read() {
    limit(kClientTimeout);
    socket_.async_read_some(
        boost::asio::buffer(chunk_),
        [self = shared_from_this()](const ErrorCode& error, std::size_t size) { self->on_read(error, size); });
  }

  void close() {
    server_ = nullptr;
    timer_.cancel();
    ErrorCode ignored;  // nothing more is read or written
    socket_.close(ignored);
  }

 private:
  void on_read(const ErrorCode& error, std::size_t size) {
    if (error) {
      leave();
      return;
    }
    received_.append(chunk_.data(), size);
    take_line();
  }

  void take_line() {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos && end < control::kMostRequestBytes) {
      const std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      answer(line);
    } else if (received_.size() >= control::kMostRequestBytes) {
      is_last_ = true;
      send(control::write_refusal("a request has at most " + std::to_string(control::kMostRequestBytes) + " bytes"));
    } else {
      read();
    }
  }

  void answer(const std::string& line) {
    if (server_ == nullptr) {
      return;
    }
    const auto request = control::parse_request(line);
    if (!request) {
      send(control::write_refusal(request.error().message));
      return;
    }
    is_waiting_ = true;
    limit(kMostWork);
    server_->on_request(*request, credentials_, [self = weak_from_this()](std::string text) {
      if (const auto client = self.lock()) {
        client->send(std::move(text));
      }
    });
  }

  void send(std::string text) {
    if (server_ == nullptr) {
      return;
    }
    is_waiting_ = false;
    limit(kClientTimeout);
    sent_ = std::move(text);
    boost::asio::async_write(
        socket_, boost::asio::buffer(sent_),
        [self = shared_from_this()](const ErrorCode& error, std::size_t) { self->on_sent(error); });
  }

  void on_sent(const ErrorCode& error) {
    sent_.clear();
    if (error || is_last_) {
      leave();
      return;
    }
    if (received_.empty()) {
      read();
      return;
    }
    timer_.start(kPause, [this] { take_line(); });
  }

  void limit(std::chrono::milliseconds time) {
    timer_.start(time, [this] { leave(); });
  }

  void leave() {
    if (server_ != nullptr) {
      server_->remove(shared_from_this());
    }
  }

  ControlServer* server_;  ///< empty: closed
  Protocol::socket socket_;
  Timer timer_;
  ucred credentials_;
  std::array<char, 1024> chunk_{};
  std::string received_;
  std::string sent_;
  bool is_waiting_ = false;
  bool is_last_ = false;
};

ControlServer::ControlServer(boost::asio::io_context& io) : io_(io), acceptor_(io), retry_(io) {}

ControlServer::~ControlServer() {
  try {
    stop();
  } catch (...) {  // out of memory: the process ends
    (void)::unlink(path_.c_str());
  }
}

Result<> ControlServer::start(const std::string& path) {
  const auto refused = [&](int error_number) { return system_error("cannot listen on '" + path + "'", error_number); };
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return refused(ENAMETOOLONG);
  }
  ErrorCode error;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return refused(errno);
  }
  acceptor_.assign(Protocol(), fd, error);
  if (error) {
    (void)::close(fd);  // the acceptor has not taken it
  } else {
    (void)::fchmod(fd, S_IRUSR | S_IWUSR);  // private from the first moment: bind uses this mode
    acceptor_.bind(Protocol::endpoint(path), error);
    path_ = error ? "" : path;
  }
  if (!error) {
    acceptor_.listen(SOMAXCONN, error);
  }
  if (error) {
    stop();
    return refused(error.value());
  }
  accept();
  return {};
}

void ControlServer::stop() {
  ErrorCode ignored;  // the socket is given up in any case
  acceptor_.close(ignored);
  retry_.cancel();
  if (!path_.empty()) {
    (void)::unlink(std::exchange(path_, "").c_str());
  }
  for (const auto& client : std::exchange(clients_, {})) {
    client->close();
  }
}

void ControlServer::accept() {
  make_room();
  if (is_accepting_ || clients_.size() > kMostControlClients || !acceptor_.is_open()) {
    return;
  }
  is_accepting_ = true;
  acceptor_.async_accept([this](const ErrorCode& error, Protocol::socket socket) {
    if (error == boost::asio::error::operation_aborted) {
      return;
    }
    is_accepting_ = false;
    if (error) {
      // Not at once: no file descriptor is left, and the kernel would fail again.
      retry_.start(kClientTimeout, std::bind_front(&ControlServer::accept, this));
      return;
    }
    // Asio does not set close-on-exec on accepted sockets: workers must not inherit them.
    (void)::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    const uid_t user = credentials_of(socket.native_handle()).uid;
    if (user == ::geteuid() || user == 0) {
      const auto client = std::make_shared<Client>(*this, std::move(socket));
      clients_.push_back(client);
      client->read();
    }
    accept();
  });
}

void ControlServer::make_room() {
  if (clients_.size() <= kMostControlClients) {
    return;
  }
  const auto newest = std::prev(clients_.end());
  const auto idle = std::find_if(clients_.begin(), newest, [](const auto& client) { return !client->is_waiting(); });
  if (idle != newest) {
    (*idle)->close();
    clients_.erase(idle);
  }
}

void ControlServer::remove(const std::shared_ptr<Client>& client) {
  client->close();
  std::erase(clients_, client);
  accept();
}

}  // namespace muster
