// Connects with one partner after the other, and sends and receives as fast as the link allows. The kernel tells the round
// trip and the packets that it has sent again: both hold on a node that is short of CPUs, too.
#include "preflight/measure_links.hpp"

#include "base/random.hpp"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::preflight {
namespace {

using gang::LinkResult;
using LinkClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// A connection that is not there by then is tried again, and has twice the time: a lost packet would cost a second.
constexpr milliseconds kConnectTime{100};
/// Between tries while nobody listens there.
constexpr milliseconds kRefusedPause{20};
/// The best one counts: on a shared node the others wait for a CPU.
constexpr milliseconds kSliceTime{50};
constexpr std::size_t kSlices = kLinkTransferTime / kSliceTime + 1;
constexpr std::size_t kTransferBytes = std::size_t{256} << 10U;
/// Connections whose first bytes have not come yet; the oldest one makes room.
constexpr std::size_t kMostPending = 8;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

/// Empty: no numeric address.
std::optional<SocketAddress> make_socket_address(const std::string& address, std::uint16_t port) {
  SocketAddress made;
  auto& four = reinterpret_cast<sockaddr_in&>(made.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(made.storage);
  if (::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    made.size = sizeof four;
  } else if (::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    made.size = sizeof six;
  } else {
    return std::nullopt;
  }
  four.sin_port = htons(port);  // sin6_port is at the same place
  return made;
}

UniqueFd make_socket(const SocketAddress& address) {
  return UniqueFd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// 0: over.
int time_left(LinkClock::time_point end) {
  const auto left = std::chrono::ceil<milliseconds>(end - LinkClock::now()).count();
  return static_cast<int>(std::max<decltype(left)>(left, 0));
}

void wait_until(LinkClock::time_point at) {
  while (const int left = time_left(at)) {
    (void)::poll(nullptr, 0, left);
  }
}

/// The first bytes of a partner. They belong to one round, so that a connection of an earlier one is none.
std::string greeting_of(const std::string& key, std::size_t round) {
  return key + static_cast<char>('a' + round);
}

/// Takes the same time whatever differs.
bool is_greeting(std::string_view got, std::string_view wanted) {
  unsigned differences = got.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
    differences |= static_cast<unsigned>(got[i] ^ wanted[i]);
  }
  return differences == 0;
}

// --- Connecting -----------------------------------------------------------------------------------

/// Empty: nobody has answered by `end`.
UniqueFd connect_to_partner(const gang::LinkStep& step, LinkClock::time_point end) {
  auto address = make_socket_address(step.address, step.port);
  for (auto most = kConnectTime; address && time_left(end) > 0; most *= 2) {
    UniqueFd socket = make_socket(*address);
    const bool is_under_way =
        socket && (::connect(socket.get(), address->get(), address->size) == 0 || errno == EINPROGRESS);
    pollfd ready{socket.get(), POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    if (is_under_way && ::poll(&ready, 1, std::min(time_left(end), static_cast<int>(most.count()))) == 1 &&
        ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
      return socket;
    }
    const bool has_timed_out = is_under_way && ready.revents == 0;
    wait_until(std::min(end, LinkClock::now() + (has_timed_out ? milliseconds(0) : kRefusedPause)));
  }
  return {};
}

struct PendingPeer {
  UniqueFd socket;
  std::string got{};
};

/// Reads no byte behind the greeting. False: the connection is of no use.
bool read_greeting(PendingPeer& peer, std::string_view wanted) {
  std::array<char, 64> bytes{};
  const std::size_t missing = std::min(wanted.size() - peer.got.size(), bytes.size());
  const ssize_t count = ::recv(peer.socket.get(), bytes.data(), missing, MSG_DONTWAIT);
  if (count <= 0) {
    return count < 0 && errno == EAGAIN;
  }
  peer.got.append(bytes.data(), static_cast<std::size_t>(count));
  return peer.got.size() < wanted.size() || is_greeting(peer.got, wanted);
}

void accept_pending(int listener, std::vector<PendingPeer>& pending) {
  if (UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)); socket) {
    if (pending.size() == kMostPending) {
      pending.erase(pending.begin());
    }
    pending.push_back({std::move(socket)});
  }
}

/// Reads the greetings that have come. Empty: none is the partner's.
UniqueFd find_partner(std::vector<PendingPeer>& pending, const std::vector<pollfd>& ready, std::string_view greeting) {
  for (std::size_t i = pending.size(); i > 0; --i) {
    PendingPeer& peer = pending[i - 1];
    const bool is_of_use = ready[i].revents == 0 || read_greeting(peer, greeting);
    if (!is_of_use) {
      pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i - 1));
    } else if (peer.got.size() == greeting.size()) {
      return std::move(peer.socket);
    }
  }
  return {};
}

/// The connection of the partner of this round; empty: it has not come by `end`. All others are closed.
UniqueFd accept_partner(int listener, const std::string& greeting, LinkClock::time_point end) {
  std::vector<PendingPeer> pending;
  while (const int left = time_left(end)) {
    std::vector<pollfd> ready{{listener, POLLIN, 0}};
    for (const PendingPeer& peer : pending) {
      ready.push_back({peer.socket.get(), POLLIN, 0});
    }
    if (::poll(ready.data(), ready.size(), left) <= 0) {
      continue;
    }
    if (UniqueFd partner = find_partner(pending, ready, greeting)) {
      return partner;
    }
    if (ready[0].revents != 0) {
      accept_pending(listener, pending);
    }
  }
  return {};
}

// --- Measuring ------------------------------------------------------------------------------------

/// Bytes received, by the slices of time since the first one.
struct Received {
  std::optional<LinkClock::time_point> first{};
  std::array<std::size_t, kSlices> slices{};

  /// A transfer ends so long after the first bytes.
  LinkClock::time_point end(LinkClock::time_point most) const {
    return first ? std::min(most, *first + kLinkTransferTime) : most;
  }

  /// The first bytes may have waited here, and do not count.
  void add(ssize_t bytes) {
    const auto now = LinkClock::now();
    if (!first) {
      first = bytes > 0 ? std::optional(now) : std::nullopt;
      return;
    }
    slices[std::min(kSlices - 1, static_cast<std::size_t>((now - *first) / kSliceTime))] +=
        static_cast<std::size_t>(bytes);
  }
};

int bounded(std::uint64_t number, int most) {
  return static_cast<int>(std::min<std::uint64_t>(number, static_cast<std::uint64_t>(most)));
}

LinkResult result_of(int socket, const Received& received) {
  constexpr std::uint64_t kBitsPerByte = 8;
  constexpr std::uint64_t kFewestPackets = 300;  // of fewer, a single one sent twice is no sign of a loss
  tcp_info info{};
  socklen_t size = sizeof info;
  (void)::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size);  // then latency and loss are not known
  const bool has_latency = info.tcpi_min_rtt != std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t sent = std::max<std::uint64_t>(info.tcpi_data_segs_out, kFewestPackets);
  return {has_latency ? bounded(info.tcpi_min_rtt, gang::kMostLinkLatency) : 0,
          bounded(*std::ranges::max_element(received.slices) * kBitsPerByte / kSliceTime.count(),  // bits in a ms
                  std::numeric_limits<int>::max()),
          bounded(std::uint64_t{info.tcpi_total_retrans} * gang::kMostLinkLoss / sent, gang::kMostLinkLoss)};
}

/// False: the partner has ended first.
bool receive_some(int socket, std::vector<char>& buffer, Received& received) {
  const ssize_t count = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  const bool goes_on = count > 0 || (count < 0 && errno == EAGAIN);
  received.add(std::max<ssize_t>(count, 0));
  return goes_on;
}

/// Sends and receives until the time of a transfer has passed since the partner's first byte. Empty: none has come.
std::optional<LinkResult> transfer(int socket, LinkClock::time_point most, std::vector<char>& buffer) {
  Received received;
  while (const int left = time_left(received.end(most))) {
    pollfd ready{socket, POLLIN | POLLOUT, 0};
    if (::poll(&ready, 1, left) <= 0) {
      continue;
    }
    if ((ready.revents & (POLLIN | POLLERR | POLLHUP)) != 0 && !receive_some(socket, buffer, received)) {
      break;
    }
    if ((ready.revents & POLLOUT) != 0) {
      static const std::vector<char> zeros(kTransferBytes);  // no partner chooses what this node sends
      (void)::send(socket, zeros.data(), zeros.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
  }
  return received.first ? std::optional(result_of(socket, received)) : std::nullopt;
}

/// Drops what is still to be sent: on a slow link it would be a load for the next round.
void reset_connection(UniqueFd socket) {
  const linger at_once{1, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

std::optional<LinkListener> listen_for_links(const std::string& address, std::uint16_t least, std::uint16_t most) {
  constexpr int kTries = 64;
  constexpr int kBacklog = 16;
  for (int i = 0; i < kTries; ++i) {
    const auto number = random_number();
    const auto port = static_cast<std::uint16_t>(least + (number ? *number : 0) % (most - least + 1U));
    auto at = make_socket_address(address, port);
    UniqueFd socket = at ? make_socket(*at) : UniqueFd();
    if (socket && ::bind(socket.get(), at->get(), at->size) == 0 && ::listen(socket.get(), kBacklog) == 0) {
      return LinkListener{std::move(socket), port};
    }
  }
  return std::nullopt;
}

gang::LinkResults measure_links(int listener, const std::string& key, const gang::LinkPlan& plan,
                                LinkClock::time_point begin) {
  std::vector<char> buffer(kTransferBytes);
  gang::LinkResults results{plan.check, {}};
  for (std::size_t round = 0; round < plan.steps.size(); ++round) {
    const gang::LinkStep& step = plan.steps[round];
    const auto start = begin + static_cast<int>(round) * gang::kLinkRoundTime;
    const auto end = start + gang::kLinkRoundTime;
    wait_until(start);
    UniqueFd socket;
    if (step.kind == gang::LinkStep::Kind::Listen) {
      socket = accept_partner(listener, greeting_of(key, round), end);
    } else if (step.kind == gang::LinkStep::Kind::Connect) {
      socket = connect_to_partner(step, end);
      const std::string greeting = greeting_of(step.key, round);
      (void)::send(socket.get(), greeting.data(), greeting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    results.rounds.push_back(socket ? transfer(socket.get(), end, buffer) : std::nullopt);
    if (socket) {
      reset_connection(std::move(socket));
    }
  }
  return results;
}

}  // namespace muster::preflight
