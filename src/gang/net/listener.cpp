// Listens and accepts with system calls, because workers inherit Asio's sockets. Also finds the process that has a
// port.
#include "gang/net/listener.hpp"

#include "base/log.hpp"
#include "base/text.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

namespace muster::gang {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kRest{100};

struct Opened {
  UniqueFd fd;
  int error_number = 0;
};

bool listen_on(int fd, int family, std::uint16_t port) {
  const int on = 1;
  const int off = 0;
  // Both wildcard addresses are all zero.
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  const bool is_six = family == AF_INET6;
  const auto* const address = is_six ? reinterpret_cast<const sockaddr*>(&six)    // NOLINT: its API
                                     : reinterpret_cast<const sockaddr*>(&four);  // NOLINT
  return ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
         (!is_six || ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
         ::bind(fd, address, is_six ? sizeof six : sizeof four) == 0 && ::listen(fd, SOMAXCONN) == 0;
}

Opened open_socket(int family, std::uint16_t port) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || !listen_on(fd.get(), family, port)) {
    return {UniqueFd(), errno};
  }
  return {std::move(fd), 0};
}

ListenFailure describe(int error_number, std::uint16_t port) {
  return {.error = system_error("cannot listen on port " + std::to_string(port), error_number),
          .is_in_use = error_number == EADDRINUSE};
}

/// True for failures of one connection and not of the listener: accept(2) passes network errors on.
bool concerns_one_connection(int error_number) {
  static constexpr auto kErrors = std::to_array({EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET,
                                                 EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, EPERM});  // EPERM: a firewall
  return contains(kErrors, error_number);
}

}  // namespace

boost::system::result<ListeningSocket, ListenFailure> listen_everywhere(std::uint16_t port) {
  Opened opened = open_socket(AF_INET6, port);
  const bool is_version_6 = opened.fd || opened.error_number == EADDRINUSE || opened.error_number == EACCES;
  if (!is_version_6) {
    opened = open_socket(AF_INET, port);
  }
  if (!opened.fd) {
    return describe(opened.error_number, port);
  }
  return ListeningSocket{std::move(opened.fd), is_version_6};
}

boost::system::result<std::unique_ptr<Listener>, ListenFailure> Listener::open(boost::asio::io_context& io,
                                                                               std::uint16_t port) {
  auto opened = TRY(listen_everywhere(port));
  const tcp protocol = opened.is_version_6 ? tcp::v6() : tcp::v4();
  tcp::acceptor acceptor(io);
  error_code error;
  acceptor.assign(protocol, opened.fd.get(), error);
  if (error) {
    return describe(error.value(), port);
  }
  (void)opened.fd.release();  // the acceptor owns it
  auto listener = std::unique_ptr<Listener>(new Listener(io, std::move(acceptor)));
  listener->protocol_ = protocol;
  return listener;
}

Listener::Listener(boost::asio::io_context& io, tcp::acceptor acceptor)
    : acceptor_(std::move(acceptor)), rest_timer_(io) {
  error_code ignored;  // it is bound
  port_ = acceptor_.local_endpoint(ignored).port();
}

void Listener::wait() {
  acceptor_.async_wait(tcp::acceptor::wait_read, [this](const error_code& error) {
    if (!error) {
      accept_all();
    }
  });
}

void Listener::accept_all() {
  constexpr int kInOneTurn = 64;  // then signals, exits of workers and other links get their turn
  int error_number = 0;
  for (int i = 0; i < kInOneTurn && (error_number == 0 || concerns_one_connection(error_number)); ++i) {
    error_number = accept_one();
  }
  if (error_number == 0 || error_number == EAGAIN || concerns_one_connection(error_number)) {
    wait();
  } else {
    rest(error_number);
  }
}

int Listener::accept_one() {
  UniqueFd fd(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) {
    return errno;
  }
  tcp::socket socket(acceptor_.get_executor());
  error_code error;
  socket.assign(protocol_, fd.get(), error);
  if (error) {
    return error.value();
  }
  (void)fd.release();  // the socket owns it
  (void)socket.remote_endpoint(error);
  if (!error) {  // otherwise it was reset while it waited, and its peer address is unknown
    on_accept(std::move(socket));
  }
  return 0;
}

/// Pauses accepting: the connection stays in the kernel's queue, so poll would report it again at once.
void Listener::rest(int error_number) {
  if (!std::exchange(has_warned_, true)) {
    log_warning(system_error("cannot accept connections, trying again every 0.1 s", error_number).message);
  }
  rest_timer_.expires_after(kRest);
  rest_timer_.async_wait([this](const error_code& error) {
    if (!error) {
      accept_all();
    }
  });
}

// Finds the process that has a port: /proc/net/tcp gives the socket's inode, and /proc/PID/fd the process.

namespace {

namespace fs = std::filesystem;

/// One line of /proc/net/tcp: "0: 0100007F:1F90 00000000:0000 0A ... inode".
struct Line {
  unsigned port = 0;
  bool is_listening = false;
  std::string inode;
};

std::optional<Line> parse(const std::string& text) {
  constexpr std::size_t kLocal = 1;
  constexpr std::size_t kState = 3;
  constexpr std::size_t kInode = 9;  // behind queues, timer, retransmissions, user and time-out
  std::istringstream stream(text);
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  const std::string local = words.size() > kInode ? words[kLocal] : "";
  const std::size_t colon = local.find(':');
  if (colon == std::string::npos) {
    return std::nullopt;
  }
  constexpr int kHexadecimal = 16;
  Line line{.is_listening = words[kState] == "0A", .inode = words[kInode]};
  const char* const end = local.data() + local.size();
  if (std::from_chars(local.data() + colon + 1, end, line.port, kHexadecimal).ptr != end) {
    return std::nullopt;
  }
  return line;
}

/// Returns the inode of the socket that has the port and listens, or does not listen; empty: none. A table lists
/// listening sockets first, and a busy machine has more connections than can be read quickly.
std::string find_inode(const char* table, std::uint16_t port, bool listens) {
  std::ifstream file(table);
  for (std::string text; std::getline(file, text);) {
    const std::optional<Line> line = parse(text);
    if (!line) {
      continue;  // the heading
    }
    if (listens && !line->is_listening) {
      break;
    }
    if (line->port == port && line->is_listening == listens && line->inode != "0") {
      return line->inode;  // 0: no process has the socket any more
    }
  }
  return {};
}

/// Returns the inode of the socket that has the port, preferably a listening one; empty: none.
std::string find_inode(std::uint16_t port) {
  constexpr std::array kTables{"/proc/net/tcp", "/proc/net/tcp6"};
  std::string inode;
  for (const bool listens : {true, false}) {
    for (auto table = kTables.begin(); inode.empty() && table != kTables.end(); ++table) {
      inode = find_inode(*table, port, listens);
    }
  }
  return inode;
}

bool has_socket(const fs::path& process, const std::string& target) {
  std::error_code error;  // another user's process, or one that has just ended
  for (fs::directory_iterator at(process / "fd", error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(at->path(), gone) == target) {
      return true;
    }
  }
  return false;
}

std::string describe(const fs::path& process) {
  std::string name;
  std::ifstream file(process / "comm");
  std::getline(file, name);
  const std::string pid = "pid " + process.filename().string();
  return name.empty() ? pid : pid + " (" + valid_utf8(name) + ")";
}

bool is_process(const fs::path& path) {
  const std::string name = path.filename().string();
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string describe_port_holder(std::uint16_t port) {
  const std::string inode = find_inode(port);
  if (inode.empty()) {
    return {};
  }
  const std::string target = "socket:[" + inode + "]";
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    if (is_process(at->path()) && has_socket(at->path(), target)) {
      return describe(at->path());
    }
  }
  return {};
}

}  // namespace muster::gang
