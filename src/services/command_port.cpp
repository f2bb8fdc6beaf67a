// Hears all who have connected at once.
#include "services/command_port.hpp"

#include "services/link.hpp"

#include "base/log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// Who connects knows what to say.
constexpr std::chrono::seconds kPatience{10};
/// For one more, who has waited longest has to go.
constexpr std::size_t kMostClients = 64;
constexpr std::size_t kMostAtOnce = std::size_t{64} << 10U;

struct Client {
  UniqueFd link;  ///< empty: refused
  CommandReader reader;
  Deadline deadline{kPatience};
};
using Clients = std::vector<Client>;

/// Nothing that goes away by asking again.
bool is_lasting(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS ||
         error_number == ENOMEM || error_number == EINVAL || error_number == EBADF;
}

void refuse(Client& client, const std::string& why) {
  log_warning("refusing a connection to the daemon of mpirun: " + why);
  client.link.reset();
}

/// Takes what is there. True: it was the last of a command that is to be obeyed, and the client knows.
Result<bool> read_signal(Client& client) {
  const int fd = client.link.get();
  const auto bytes = receive_some(fd, std::min(client.reader.missing(), kMostAtOnce));
  if (!bytes) {
    return bytes.error();
  }
  auto whole = client.reader.feed(*bytes);
  if (!whole || !*whole) {
    return whole;
  }
  const auto told = send_all(fd, client.reader.answer(), client.deadline);
  return told ? std::move(whole) : told.error();
}

/// `polled`: the listener, and then the clients.
std::optional<CommandRequest> read_all(Clients& clients, const std::vector<pollfd>& polled) {
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (polled[i + 1].revents == 0) {
      continue;
    }
    const auto heard = read_signal(clients[i]);
    if (!heard) {
      refuse(clients[i], heard.error().message);
    } else if (*heard) {
      return CommandRequest{std::move(clients[i].link), clients[i].reader.command()};
    }
  }
  return std::nullopt;
}

void refuse_late(Clients& clients) {
  for (Client& client : clients) {
    if (client.link && client.deadline.is_over()) {
      refuse(client, "nothing came in time");
    }
  }
  std::erase_if(clients, [](const Client& client) { return !client.link; });
}

Result<> admit(Clients& clients, const UniqueFd& listener, const std::string& secret) {
  UniqueFd link(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!link) {  // a client that has gone, or a signal
    return is_lasting(errno)
               ? Result<>(system_error("the daemon of mpirun cannot be reached", errno))
               : Result<>();
  }
  if (clients.size() == kMostClients) {
    refuse(clients.front(), "too many others have come");
    clients.erase(clients.begin());
  }
  Client client{std::move(link), CommandReader(secret)};
  const auto sent = send_all(client.link.get(), client.reader.digits(), client.deadline);
  if (sent) {
    clients.push_back(std::move(client));
  }
  return {};
}

std::vector<pollfd> ends_of(const UniqueFd& listener, const Clients& clients) {
  std::vector<pollfd> ends{{listener.get(), POLLIN, 0}};
  ends.reserve(1 + clients.size());
  for (const Client& client : clients) {
    ends.push_back({client.link.get(), POLLIN, 0});
  }
  return ends;
}

}  // namespace

Result<CommandRequest> wait_for_command(const UniqueFd& listener, const std::string& secret) {
  (void)::fcntl(listener.get(), F_SETFL, O_NONBLOCK);  // who has connected may be gone
  Clients clients;
  while (true) {
    auto ends = ends_of(listener, clients);
    const int patience = clients.empty() ? -1 : clients.front().deadline.left();
    if (::poll(ends.data(), ends.size(), patience) < 0 && errno != EINTR) {
      return system_error("the daemon of mpirun cannot be reached", errno);
    }
    if (auto asked = read_all(clients, ends)) {
      return std::move(*asked);
    }
    refuse_late(clients);
    const bool is_somebody_here = ends.front().revents != 0;
    if (auto admitted = is_somebody_here ? admit(clients, listener, secret) : Result<>();
        !admitted) {
      return admitted.error();
    }
  }
}

}  // namespace muster
