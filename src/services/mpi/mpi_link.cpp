// Implements both ends of the link. The daemon sends 32 digits; the agent a frame, which is a proof for these with the
// command, and the command; the daemon a proof for the digits.
#include "services/mpi/mpi_link.hpp"

#include "base/endpoint.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "gang/net/token.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

namespace muster {
namespace {

using boost::asio::ip::tcp;

constexpr std::size_t kDigits = 32;
constexpr std::size_t kProofSize = 64;
/// The kernel's limit of an argument: MAX_ARG_STRLEN.
constexpr std::size_t kMostCommand = std::size_t{128} << 10U;
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

/// Tries once. Empty: no process listens there yet.
Result<UniqueFd> try_to_connect(const tcp::endpoint& address, const Deadline& deadline) {
  UniqueFd fd(::socket(address.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return system_error("cannot make a socket", errno);
  }
  if (::connect(fd.get(), address.data(), static_cast<socklen_t>(address.size())) == 0) {
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

Result<UniqueFd> connect_to(const std::string& endpoint, const Deadline& deadline) {
  const Endpoint parts = split_endpoint(endpoint);
  boost::system::error_code error;
  const auto host = boost::asio::ip::make_address(parts.host, error);
  const auto port = parse_integer(parts.port.value_or(""), 1, kMostPort);
  if (error || !port) {
    return Error{ErrorKind::BadEnvironment, "'" + endpoint + "' is no address with a port"};
  }
  const tcp::endpoint address(host, static_cast<std::uint16_t>(*port));
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
    } else {
      TRY(wait_until(fd, POLLOUT, deadline));
    }
  }
  return {};
}

Result<std::string> receive_some(int fd, std::size_t most) {
  std::array<char, 65'536>
      buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): clearing it costs more than most reads
  const ssize_t size = ::recv(fd, buffer.data(), std::min(most, buffer.size()), MSG_DONTWAIT);
  if (size == 0) {
    return Error{ErrorKind::System, "the other end has closed the link"};
  }
  if (size < 0 && errno != EAGAIN && errno != EINTR) {
    return system_error("cannot read from the other end", errno);
  }
  return std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

Result<> ask_for_command(int fd, std::string_view secret, std::string_view command, const Deadline& deadline) {
  if (command.size() > kMostCommand) {
    return Error{ErrorKind::BadUsage,
                 "a command of " + std::to_string(command.size()) + " bytes is too long for a shell"};
  }
  std::string digits;
  TRY(receive(fd, digits, kDigits, deadline));
  const std::string text(command);
  TRY(send_all(fd, frame(gang::prove(secret, digits + text) + text), deadline));
  std::string answer;
  TRY(receive(fd, answer, kProofSize, deadline));
  return gang::is_proof(answer, secret, digits)
             ? Result<>()
             : Error{ErrorKind::System, "the program that listens there does not know the job's secret"};
}

CommandReader::CommandReader(std::string secret, std::string digits)
    : secret_(std::move(secret)), digits_(std::move(digits)), frames_(kProofSize + kMostCommand) {}

Result<bool> CommandReader::feed(std::string_view bytes) {
  frames_.feed(bytes);
  const auto payload = frames_.next();
  if (payload && !*payload) {
    return false;
  }
  if (!payload || (*payload)->size() < kProofSize) {
    return Error{ErrorKind::System, "the message is not a command"};
  }
  command_ = (*payload)->substr(kProofSize);
  return gang::is_proof((*payload)->substr(0, kProofSize), secret_, digits_ + command_)
             ? Result<bool>(true)
             : Error{ErrorKind::System, "the sender of the command does not know the job's secret"};
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
  const auto bytes = TRY(receive_some(fd, client.reader.wanted()));
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
  MpiClient client{std::move(link), CommandReader(secret, TRY(random_digits()))};
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
