// Implements both ends of the link. The daemon sends 32 digits; the agent a proof for these with the command, the
// command's size in 8 digits, and the command; the daemon a proof for the digits.
#include "services/mpi/mpi_link.hpp"

#include "base/endpoint.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "gang/net/token.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace muster {
namespace {

constexpr std::size_t kDigits = 32;
constexpr std::size_t kProofSize = 64;
/// Added to the command's size, so that it always has 8 digits.
constexpr int kLengthBase = 10'000'000;
constexpr std::size_t kLengthSize = 8;
constexpr std::size_t kHeadSize = kProofSize + kLengthSize;
/// The kernel's limit of an argument: MAX_ARG_STRLEN.
constexpr int kMostCommand = 128 << 10;
constexpr int kPort = 65'535;
/// Milliseconds between two attempts to connect, at first and at most.
constexpr int kFirstPause = 10;
constexpr int kMostPause = 250;

Result<> wait_until(int fd, short events, const Deadline& deadline) {
  pollfd ready{fd, events, 0};
  int found = 0;
  do {
    found = ::poll(&ready, 1, deadline.left());
  } while (found < 0 && errno == EINTR);
  if (found == 0) {
    return Error{ErrorKind::System, "nothing came in time"};
  }
  return found > 0 ? Result<>() : Result<>(system_error("cannot wait for the other end", errno));
}

/// An IPv4 or IPv6 address with a port.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage);  // NOLINT: the socket API
  }
};

/// `bytes`: 4 of an IPv4 address, or 16 of an IPv6 address.
SocketAddress address_of(std::string_view bytes, std::uint16_t port) {
  SocketAddress address;
  if (bytes.size() == sizeof(in_addr)) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, bytes.data(), bytes.size());
    std::memcpy(&address.storage, &four, sizeof four);
    address.size = sizeof four;
  } else {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&six.sin6_addr, bytes.data(), bytes.size());
    std::memcpy(&address.storage, &six, sizeof six);
    address.size = sizeof six;
  }
  return address;
}

/// Tries once. Empty: no process listens there yet.
Result<UniqueFd> try_to_connect(const SocketAddress& address, const Deadline& deadline) {
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return system_error("cannot make a socket", errno);
  }
  if (::connect(fd.get(), address.get(), address.size) == 0) {
    return fd;
  }
  if (errno != EINPROGRESS) {
    return UniqueFd();
  }
  if (const auto ready = wait_until(fd.get(), POLLOUT, deadline); !ready) {
    return UniqueFd();
  }
  int error = 0;
  socklen_t size = sizeof error;
  const bool is_known = ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0;
  return is_known && error == 0 ? std::move(fd) : UniqueFd();
}

/// Appends to `bytes` until it has `count` bytes.
Result<> receive(int fd, std::string& bytes, std::size_t count, const Deadline& deadline) {
  while (bytes.size() < count) {
    TRY(wait_until(fd, POLLIN, deadline));
    const auto more = TRY(receive_some(fd, count - bytes.size()));
    bytes += more;
  }
  return {};
}

}  // namespace

int Deadline::left() const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

Result<UniqueFd> listen_at(std::uint16_t port) {
  int error_number = 0;
  for (const std::size_t size : {sizeof(in6_addr), sizeof(in_addr)}) {  // some hosts have no IPv6
    const SocketAddress any = address_of(std::string(size, '\0'), port);
    UniqueFd fd(::socket(any.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    const int off = 0;
    if (fd && any.storage.ss_family == AF_INET6) {
      (void)::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (fd && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(fd.get(), any.get(), any.size) == 0 && ::listen(fd.get(), SOMAXCONN) == 0) {
      return fd;
    }
    error_number = errno;
  }
  return system_error("cannot listen at port " + std::to_string(port), error_number);
}

Result<UniqueFd> connect_to(const std::string& endpoint, const Deadline& deadline) {
  const Endpoint parts = split_endpoint(endpoint);
  const auto bytes = address_bytes(parts.host);
  const auto port = parse_integer(parts.port.value_or(""), 1, kPort);
  if (!bytes || !port) {
    return Error{ErrorKind::BadEnvironment, "'" + endpoint + "' is no address with a port"};
  }
  const SocketAddress address = address_of(*bytes, static_cast<std::uint16_t>(*port));
  for (int pause = kFirstPause; !deadline.is_over(); pause = std::min(2 * pause, kMostPause)) {
    auto connected = try_to_connect(address, deadline);
    if (!connected || *connected) {
      return connected;
    }
    (void)::poll(nullptr, 0, std::min(pause, deadline.left()));
  }
  return Error{ErrorKind::Incomplete, "nobody listens at " + endpoint};
}

Result<> send_all(int fd, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return system_error("cannot write to the other end", errno);
    } else
      TRY(wait_until(fd, POLLOUT, deadline));
  }
  return {};
}

Result<std::string> receive_some(int fd, std::size_t most) {
  std::string bytes(most, '\0');
  const ssize_t size = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size == 0) {
    return Error{ErrorKind::System, "the other end has closed the link"};
  }
  if (size < 0 && errno != EAGAIN && errno != EINTR) {
    return system_error("cannot read from the other end", errno);
  }
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return bytes;
}

Result<> ask_for_command(int fd, std::string_view secret, std::string_view command, const Deadline& deadline) {
  if (command.size() > kMostCommand) {
    return Error{ErrorKind::BadUsage,
                 "a command of " + std::to_string(command.size()) + " bytes is too long for a shell"};
  }
  std::string digits;
  TRY(receive(fd, digits, kDigits, deadline));
  const std::string text(command);
  const std::string length = std::to_string(kLengthBase + text.size());
  TRY(send_all(fd, gang::prove(secret, digits + text) + length + text, deadline));
  std::string answer;
  TRY(receive(fd, answer, kProofSize, deadline));
  return gang::is_proof(answer, secret, digits)
             ? Result<>()
             : Error{ErrorKind::System, "who listens there does not know the job's secret"};
}

CommandReader::CommandReader(std::string secret) : secret_(std::move(secret)), digits_(gang::random_digits()) {}

std::size_t CommandReader::missing() const {
  return kHeadSize + length_.value_or(0) - bytes_.size();
}

Result<bool> CommandReader::feed(std::string_view bytes) {
  bytes_ += bytes;
  if (missing() > 0) {
    return false;
  }
  if (!length_) {
    const auto length = parse_integer(bytes_.substr(kProofSize, kLengthSize), kLengthBase, kLengthBase + kMostCommand);
    if (!length) {
      return Error{ErrorKind::System, "what came is no command"};
    }
    length_ = static_cast<std::size_t>(*length - kLengthBase);
  }
  if (missing() > 0) {
    return false;
  }
  return gang::is_proof(bytes_.substr(0, kProofSize), secret_, digits_ + command())
             ? Result<bool>(true)
             : Error{ErrorKind::System, "who sent the command does not know the job's secret"};
}

std::string CommandReader::command() const {
  return bytes_.substr(kHeadSize);
}

std::string CommandReader::answer() const {
  return gang::prove(secret_, digits_);
}

// Serves all connected clients concurrently.

namespace {

/// Time for a client's message, which the client knows when it connects.
constexpr std::chrono::seconds kMpiTimeout{10};
/// Most clients at a time. For one more, the oldest one is closed.
constexpr std::size_t kMostMpiClients = 64;
constexpr std::size_t kMostAtOnce = std::size_t{64} << 10U;

struct MpiClient {
  UniqueFd link;  ///< empty: the client was refused
  CommandReader reader;
  Deadline deadline{kMpiTimeout};
};
using Clients = std::vector<MpiClient>;

/// True: calling accept again does not help.
bool is_lasting(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS || error_number == ENOMEM ||
         error_number == EINVAL || error_number == EBADF;
}

void refuse(MpiClient& client, const std::string& why) {
  log_warning("refusing a connection to the daemon of mpirun: " + why);
  client.link.reset();
}

/// Reads the available bytes. True: a command is complete and valid, and the client has been told so.
Result<bool> read_commands(MpiClient& client) {
  const int fd = client.link.get();
  const auto bytes = TRY(receive_some(fd, std::min(client.reader.missing(), kMostAtOnce)));
  auto whole = client.reader.feed(bytes);
  if (!whole || !*whole) {
    return whole;
  }
  TRY(send_all(fd, client.reader.answer(), client.deadline));
  return whole;
}

/// `polled`: the listener, then the clients.
std::optional<CommandRequest> read_all(Clients& clients, const std::vector<pollfd>& polled) {
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (polled[i + 1].revents == 0) {
      continue;
    }
    const auto heard = read_commands(clients[i]);
    if (!heard) {
      refuse(clients[i], heard.error().message);
    } else if (*heard) {
      return CommandRequest{std::move(clients[i].link), clients[i].reader.command()};
    }
  }
  return std::nullopt;
}

void refuse_late(Clients& clients) {
  for (MpiClient& client : clients) {
    if (client.link && client.deadline.is_over()) {
      refuse(client, "nothing came in time");
    }
  }
  std::erase_if(clients, [](const MpiClient& client) { return !client.link; });
}

Result<> admit(Clients& clients, const UniqueFd& listener, const std::string& secret) {
  UniqueFd link(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!link) {  // the client has gone, or a signal came
    return is_lasting(errno) ? Result<>(system_error("the daemon of mpirun cannot be reached", errno)) : Result<>();
  }
  if (clients.size() == kMostMpiClients) {
    refuse(clients.front(), "too many others have come");
    clients.erase(clients.begin());
  }
  MpiClient client{std::move(link), CommandReader(secret)};
  const auto sent = send_all(client.link.get(), client.reader.digits(), client.deadline);
  if (sent) {
    clients.push_back(std::move(client));
  }
  return {};
}

std::vector<pollfd> ends_of(const UniqueFd& listener, const Clients& clients) {
  std::vector<pollfd> ends{{listener.get(), POLLIN, 0}};
  ends.reserve(1 + clients.size());
  for (const MpiClient& client : clients) {
    ends.push_back({client.link.get(), POLLIN, 0});
  }
  return ends;
}

}  // namespace

Result<CommandRequest> wait_for_command(const UniqueFd& listener, const std::string& secret) {
  (void)::fcntl(listener.get(), F_SETFL, O_NONBLOCK);  // a client may be gone before accept
  Clients clients;
  while (true) {
    auto ends = ends_of(listener, clients);
    const int timeout = clients.empty() ? -1 : clients.front().deadline.left();
    if (::poll(ends.data(), ends.size(), timeout) < 0 && errno != EINTR) {
      return system_error("the daemon of mpirun cannot be reached", errno);
    }
    if (auto asked = read_all(clients, ends)) {
      return std::move(*asked);
    }
    refuse_late(clients);
    const bool has_connection = ends.front().revents != 0;
    TRY(has_connection ? admit(clients, listener, secret) : Result<>());
  }
}

}  // namespace muster
