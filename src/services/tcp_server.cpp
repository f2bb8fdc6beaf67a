// Implements TCP servers that read a few clients at a time, the check of client addresses, and named pipes.
#include "services/tcp_server.hpp"

#include "base/file_io.hpp"
#include "base/log.hpp"
#include "gang/net/listener.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

namespace muster {
namespace {

using boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;

/// Most clients that are read at a time: their requests take a few milliseconds per turn of the event loop.
constexpr std::size_t kMostActive = 64;
/// Most clients: more than one process for each device of a large job.
constexpr std::size_t kMostClients = 8'192;
constexpr std::chrono::milliseconds kAnswerTimeout{Server::kPatienceMilliseconds};
/// Longest life of a client.
constexpr std::chrono::seconds kLongest{10};

/// Calls `on_due` for each added client, after a fixed delay.
class Deadlines {
 public:
  Deadlines(boost::asio::io_context& io, std::chrono::milliseconds delay) : timer_(io), delay_(delay) {}

  std::function<void(ClientId)> on_due;

  void add(ClientId client) {
    waiting_.emplace_back(Clock::now() + delay_, client);
    if (waiting_.size() == 1) {
      wait();
    }
  }
  void stop() {
    waiting_.clear();
    timer_.cancel();
  }

 private:
  void wait() {
    timer_.expires_at(waiting_.front().first);
    timer_.async_wait([this](const ErrorCode& error) {
      if (!error) {
        look();
      }
    });
  }

  void look() {
    const auto now = Clock::now();
    while (!waiting_.empty() && waiting_.front().first <= now) {
      const ClientId due = waiting_.front().second;
      waiting_.pop_front();
      on_due(due);
    }
    if (!waiting_.empty()) {
      wait();
    }
  }

  boost::asio::steady_timer timer_;
  std::chrono::milliseconds delay_;
  std::deque<std::pair<Clock::time_point, ClientId>> waiting_;
};

enum class ClientState {
  Queued,
  Reading,
  Deferred,
  Writing
};

struct Client {
  tcp::socket socket;
  ClientState state = ClientState::Queued;
  std::string bytes = {};  ///< the answer
  std::size_t sent = 0;    ///< bytes of the answer
};

class TcpServer {
 public:
  TcpServer(boost::asio::io_context& io, std::unique_ptr<gang::Listener> listener, ServerEvents events)
      : listener_(std::move(listener)),
        events_(std::move(events)),
        patience_(io, kAnswerTimeout),
        lives_(io, kLongest) {
    patience_.on_due = [this](ClientId client) { on_held_long(client); };
    lives_.on_due = [this](ClientId client) { close(client); };
    listener_->on_accept = [this](tcp::socket socket) { accept(std::move(socket)); };
    listener_->on_remark = [](const std::string& remark) { log_warning(remark); };
    admission_.on_remark = [](const std::string& remark) { log_warning(remark); };
    listener_->start();
  }

  [[nodiscard]] std::uint16_t port() const { return listener_->port(); }

  void admit_only(const std::vector<std::string>& addresses) { admission_.admit_only(addresses); }

  void answer(ClientId id, std::string bytes) {
    if (const auto at = clients_.find(id); at != clients_.end()) {
      leave_turn(at->second, ClientState::Writing);
      at->second.bytes = std::move(bytes);
      write(id);
    }
  }

  void defer(ClientId id) {
    if (const auto at = clients_.find(id); at != clients_.end()) {
      leave_turn(at->second, ClientState::Deferred);
      patience_.add(id);
    }
  }

  /// Accepts no client and calls no handler any more.
  void stop() {
    is_stopped_ = true;
    clients_.clear();
    patience_.stop();
    lives_.stop();
  }

 private:
  void accept(tcp::socket socket) {
    if (is_stopped_ || clients_.size() >= kMostClients || !admission_.admits(peer_of(socket))) {
      return;  // the destructor closes the socket
    }
    ErrorCode ignored;  // failure only makes small answers slower
    socket.set_option(tcp::no_delay(true), ignored);
    const ClientId id = ++last_;
    clients_.emplace(id, Client{std::move(socket)});
    lives_.add(id);
    queue_.push_back(id);
    take_turns();
  }

  void take_turns() {
    while (active_ < kMostActive && !queue_.empty()) {
      const auto at = clients_.find(queue_.front());
      queue_.pop_front();
      if (at != clients_.end()) {
        ++active_;
        at->second.state = ClientState::Reading;
        read(at->first);
      }
    }
  }

  void leave_turn(Client& client, ClientState state) {
    if (client.state == ClientState::Reading) {
      --active_;
    }
    client.state = state;
  }

  void read(ClientId id) {
    clients_.at(id).socket.async_wait(tcp::socket::wait_read, [this, id](const ErrorCode& error) {
      if (!error && !is_stopped_) {
        on_readable(id);
      }
    });
  }

  void on_readable(ClientId id) {
    const auto at = clients_.find(id);
    if (at == clients_.end()) {
      return;
    }
    ErrorCode error;
    const std::size_t size = at->second.socket.read_some(boost::asio::buffer(buffer_), error);
    if (error == boost::asio::error::would_block) {
      read(id);
    } else if (error) {
      close(id);
    } else {
      events_.on_bytes(id, {buffer_.data(), size});
      const auto still = clients_.find(id);
      if (still != clients_.end() && still->second.state == ClientState::Reading) {
        read(id);
      }
      take_turns();
    }
  }

  void on_held_long(ClientId id) {
    const auto at = clients_.find(id);
    if (at != clients_.end() && at->second.state == ClientState::Deferred) {
      events_.on_deferred(id);
    }
  }

  void write(ClientId id) {
    Client& client = clients_.at(id);
    ErrorCode error;
    client.sent += client.socket.write_some(boost::asio::buffer(client.bytes) + client.sent, error);
    const bool is_all = client.sent == client.bytes.size();
    if (is_all || (error && error != boost::asio::error::would_block)) {
      close(id);
      return;
    }
    client.socket.async_wait(tcp::socket::wait_write, [this, id](const ErrorCode& failed) {
      if (!failed && !is_stopped_ && clients_.contains(id)) {
        write(id);
      }
    });
  }

  void close(ClientId id) {
    const auto at = clients_.find(id);
    if (at == clients_.end()) {
      return;
    }
    const bool is_answered = at->second.state == ClientState::Writing;
    leave_turn(at->second, ClientState::Writing);
    clients_.erase(at);
    if (!is_answered) {
      events_.on_closed(id);
    }
    take_turns();
  }

  std::unique_ptr<gang::Listener> listener_;
  ServerEvents events_;
  Deadlines patience_;
  Deadlines lives_;
  IpAllowList admission_;
  std::unordered_map<ClientId, Client> clients_;
  std::deque<ClientId> queue_;
  std::array<char, std::size_t{64} << 10U> buffer_{};
  ClientId last_ = 0;
  std::size_t active_ = 0;
  bool is_stopped_ = false;
};

/// Destroys the port one turn of the event loop after its owner, because handlers that are ready may still be called.
class ServerHandle final : public Server {
 public:
  ServerHandle(boost::asio::io_context& io, std::shared_ptr<TcpServer> port) : io_(io), port_(std::move(port)) {}
  ServerHandle(const ServerHandle&) = delete;
  ServerHandle& operator=(const ServerHandle&) = delete;
  // NOLINTNEXTLINE(bugprone-exception-escape): without memory the job ends anyway
  ~ServerHandle() override {
    port_->stop();
    boost::asio::post(io_, [old = std::move(port_)] {});
  }

  [[nodiscard]] std::uint16_t port() const override { return port_->port(); }
  void admit_only(std::vector<std::string> addresses) override { port_->admit_only(addresses); }
  void answer(ClientId client, std::string bytes) override { port_->answer(client, std::move(bytes)); }
  void defer(ClientId client) override { port_->defer(client); }

 private:
  boost::asio::io_context& io_;
  std::shared_ptr<TcpServer> port_;
};

}  // namespace

Result<std::unique_ptr<Server>> start_server(boost::asio::io_context& io, ServerEvents events) {
  auto listener = gang::Listener::open(io, 0);
  if (!listener) {
    return listener.error().error;
  }
  auto port = std::make_shared<TcpServer>(io, std::move(*listener), std::move(events));
  return std::unique_ptr<Server>(std::make_unique<ServerHandle>(io, std::move(port)));
}

// Addresses are compared as numbers: no name is resolved.

namespace {

using Address = boost::asio::ip::address;

constexpr std::size_t kMostRemarks = 16;
constexpr const char* kThisMachine = "127.0.0.1";

/// Converts an IPv4 address that is mapped to IPv6.
Address plain(const Address& address) {
  const bool is_mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return is_mapped ? Address(boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())) : address;
}

}  // namespace

std::string peer_of(boost::asio::ip::tcp::socket& socket) {
  ErrorCode error;
  const auto remote = socket.remote_endpoint(error);
  return error ? std::string() : peer_of(socket.native_handle(), remote);
}

std::string peer_of(int fd, const boost::asio::ip::tcp::endpoint& remote) {
  const Address peer = plain(remote.address());
  boost::asio::ip::tcp::endpoint own;
  auto size = static_cast<socklen_t>(own.capacity());
  const bool is_here =
      peer.is_loopback() || (::getsockname(fd, own.data(), &size) == 0 && peer == plain(own.address()));
  return is_here ? kThisMachine : peer.to_string();
}

void IpAllowList::admit_only(const std::vector<std::string>& addresses) {
  is_open_ = false;
  admitted_ = {kThisMachine};
  for (const std::string& address : addresses) {
    ErrorCode error;
    const Address numeric = boost::asio::ip::make_address(address, error);
    if (!error) {
      admitted_.insert(plain(numeric).to_string());
    }
  }
}

bool IpAllowList::admits(const std::string& peer) {
  const bool is_admitted = !peer.empty() && (is_open_ || admitted_.contains(peer));
  if (!is_admitted && !peer.empty()) {
    remark(peer);
  }
  return is_admitted;
}

void IpAllowList::remark(const std::string& peer) {
  if (refused_.size() < kMostRemarks && refused_.insert(peer).second && on_remark) {
    on_remark("a connection from " + peer + " was refused: no node of the job has this address");
  }
}

// Reads a named pipe. It is open for writing as well: without a writer, reading would meet EOF and wake the loop
// without a pause.

namespace {

class ReadPipe final : public NamedPipe {
 public:
  ReadPipe(boost::asio::io_context& io, UniqueFd pipe, PipeEvents events)
      : pipe_(io, pipe.release()), timer_(io), events_(std::move(events)) {
    read();
  }

  void wake_after(std::optional<std::chrono::nanoseconds> delay) override {
    const std::uint64_t wait = ++wait_;
    timer_.cancel();
    if (!delay) {
      return;
    }
    timer_.expires_after(*delay);
    timer_.async_wait([this, wait, is_here = watch()](const ErrorCode& error) {
      if (!error && !is_here.expired() && wait == wait_) {
        events_.on_time();
      }
    });
  }

 private:
  /// Asio still calls handlers that completed before they were cancelled; this tells whether the object still exists.
  [[nodiscard]] std::weak_ptr<bool> watch() const { return is_here_; }

  void read() {
    pipe_.async_read_some(boost::asio::buffer(buffer_),
                          [this, is_here = watch()](const ErrorCode& error, std::size_t size) {
                            if (!error && !is_here.expired()) {
                              events_.on_bytes({buffer_.data(), size});
                              read();
                            }
                          });
  }

  boost::asio::posix::stream_descriptor pipe_;
  boost::asio::steady_timer timer_;
  PipeEvents events_;
  std::uint64_t wait_ = 0;
  std::array<char, std::size_t{16} << 10U> buffer_{};
  std::shared_ptr<bool> is_here_ = std::make_shared<bool>(true);
};

}  // namespace

Result<std::unique_ptr<NamedPipe>> open_pipe(boost::asio::io_context& io, const std::string& path, PipeEvents events) {
  UniqueFd pipe(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!pipe || ::fstat(pipe.get(), &status) != 0) {
    return system_error("cannot open the pipe '" + path + "'", errno);
  }
  if (!S_ISFIFO(status.st_mode)) {
    return Error{ErrorKind::System, "cannot read '" + path + "': it is no pipe"};
  }
  return std::unique_ptr<NamedPipe>(std::make_unique<ReadPipe>(io, std::move(pipe), std::move(events)));
}

}  // namespace muster
