// Implements the process of the store: its epoll set and its event loop.
#include "services/torch_store/store_main.hpp"

#include "services/torch_store/store.hpp"
#include "services/torch_store/store_process.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <new>
#include <set>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster {
namespace {

void control(int epoll, int operation, int fd, epoll_event event) {
  if (::epoll_ctl(epoll, operation, fd, &event) == 0) {
    return;
  }
  if (errno == ENOMEM || errno == ENOSPC) {
    throw std::bad_alloc();
  }
  throw std::system_error(errno, std::generic_category(), "cannot wait for a connection");
}

}  // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) {
    throw std::system_error(errno, std::generic_category(), "cannot wait for connections");
  }
}

void Poller::add(int fd, std::uint64_t number, std::uint32_t events) {
  control(epoll_.get(), EPOLL_CTL_ADD, fd, {events, {.u64 = number}});
}

void Poller::change(int fd, std::uint64_t number, std::uint32_t events) {
  control(epoll_.get(), EPOLL_CTL_MOD, fd, {events, {.u64 = number}});
}

void Poller::remove(int fd) {
  control(epoll_.get(), EPOLL_CTL_DEL, fd, {});
}

std::span<const epoll_event> Poller::ready(std::optional<std::chrono::milliseconds> time, std::size_t most) {
  ready_.resize(most);
  const int count = ::epoll_wait(epoll_.get(), ready_.data(), static_cast<int>(ready_.size()),
                                 time ? static_cast<int>(time->count()) : -1);
  if (count < 0 && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "cannot wait for connections");
  }
  return {ready_.data(), static_cast<std::size_t>(std::max(count, 0))};
}

// Clients that may connect: this machine, and the nodes of the job. Addresses are compared as numbers: no name is
// resolved.

namespace {

using boost::asio::ip::tcp;
using Address = boost::asio::ip::address;

/// Admits some numeric addresses and this machine.
class IpAllowList {
 public:
  /// `agent` gets a message for the user: once per refused address, and for the first addresses only.
  IpAllowList(AgentLink& agent, const std::vector<std::string>& addresses);

  /// `peer`: an address as `peer_of` returns it.
  bool admits(const std::string& peer);

 private:
  AgentLink& agent_;
  std::set<std::string> admitted_;
  std::set<std::string> refused_;
};

constexpr std::size_t kMostWarnings = 16;
constexpr const char* kThisMachine = "127.0.0.1";

/// Converts an IPv4 address that is mapped to IPv6.
Address plain(const Address& address) {
  const bool is_mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return is_mapped ? Address(boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())) : address;
}

/// Numeric address of the other end; "127.0.0.1" for all addresses of this machine. An IPv4 address mapped to IPv6 is
/// returned as IPv4.
std::string peer_of(int fd, const tcp::endpoint& remote) {
  const Address peer = plain(remote.address());
  tcp::endpoint own;
  auto size = static_cast<socklen_t>(own.capacity());
  const bool is_here =
      peer.is_loopback() || (::getsockname(fd, own.data(), &size) == 0 && peer == plain(own.address()));
  return is_here ? kThisMachine : peer.to_string();
}

IpAllowList::IpAllowList(AgentLink& agent, const std::vector<std::string>& addresses)
    : agent_(agent), admitted_{kThisMachine} {
  for (const std::string& address : addresses) {
    boost::system::error_code error;
    const Address numeric = boost::asio::ip::make_address(address, error);
    if (!error) {
      admitted_.insert(plain(numeric).to_string());
    }
  }
}

bool IpAllowList::admits(const std::string& peer) {
  const bool is_admitted = admitted_.contains(peer);
  if (!is_admitted && refused_.size() < kMostWarnings && refused_.insert(peer).second) {
    agent_.warn("a connection from " + peer + " was refused: no node of the job has this address");
  }
  return is_admitted;
}

}  // namespace

// The event loop. Each turn handles events in the order that the store needs: closed connections, new ones, then
// bytes; then it writes answers. It calls epoll itself: when thousands of clients connect at once, a library's state
// for each socket would cost more than their requests.

namespace {

using store::ClientId;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Per turn of the loop; the rest waits for the next turn.
constexpr int kMostAccepted = 256;
constexpr int kMostAnswers = 4'096;
/// Silence that settles a request with two meanings.
constexpr milliseconds kSilence{100};
/// Accepting pauses for this long when no descriptor is left for another client.
constexpr milliseconds kRest{100};

// Numbers in the epoll set; clients' numbers follow.
constexpr std::uint64_t kListener = 0;
constexpr std::uint64_t kAgent = 1;
/// Events of a client. With EPOLLRDHUP the kernel reports its end, so that no client has to be polled for that.
constexpr std::uint32_t kClientEvents = EPOLLIN | EPOLLRDHUP;
constexpr std::uint32_t kConnectionEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

struct StoreClient {
  UniqueFd fd;
  std::string answer{};  ///< the piece that is in flight
  std::size_t sent = 0;  ///< bytes of the piece
  std::optional<Clock::time_point> silent_until{};
};

class StoreLoop {
 public:
  StoreLoop(const StoreChannel& ends, const StoreJob& job)
      : listener_(ends.listener),
        agent_(poller_, ends.agent, kAgent),
        admission_(agent_, job.addresses),
        expected_(job.workers),
        store_(job.workers) {
    poller_.add(listener_, kListener, EPOLLIN);
  }

  void run() {
    while (!agent_.is_over()) {
      take_turn(poller_.ready(time_to_wait(), clients_.size() + 2));
    }
  }

 private:
  using Events = std::span<const epoll_event>;

  void take_turn(Events events) {
    read_requests(events);
    close_disconnected(events);
    for (const epoll_event& event : events) {
      if (event.data.u64 == kListener) {
        accept_some();
      }
    }
    for (const epoll_event& event : events) {
      serve(event);
    }
    check_clock();
    answer_some();
    follow_arrivals();
  }

  void serve(const epoll_event& event) {
    const ClientId id = event.data.u64;
    if ((event.events & EPOLLIN) != 0) {
      read(id);
    }
    const auto at = clients_.find(id);
    if (at != clients_.end() && (event.events & EPOLLOUT) != 0) {
      poller_.change(at->second.fd.get(), id, kClientEvents);
      write(id, at->second);
    }
  }

  // Connections.
  void close_disconnected(Events events) {
    for (const epoll_event& event : events) {
      const auto at = (event.events & kConnectionEnd) != 0 ? clients_.find(event.data.u64) : clients_.end();
      if (at != clients_.end() && !has_bytes(at->second)) {
        close(at->first);
      }
    }
  }

  /// True: bytes that were sent before the end are still to be read. Peeks only.
  static bool has_bytes(const StoreClient& client) {
    char byte = 0;
    return ::recv(client.fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }

  void accept_some() {
    for (int i = 0; i < kMostAccepted; ++i) {
      tcp::endpoint peer;
      auto size = static_cast<socklen_t>(peer.capacity());
      UniqueFd fd(::accept4(listener_, peer.data(), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd) {
        wait_after(errno);
        return;
      }
      peer.resize(size);
      take_in(std::move(fd), peer);
    }
  }

  void wait_after(int error_number) {
    if (error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS || error_number == ENOMEM) {
      rest();
    } else if (error_number == EINVAL) {  // the agent has closed the port
      poller_.remove(listener_);
      rests_until_.reset();
    }
  }

  void rest() {
    if (const auto most = store_.most_connected_client()) {
      close_all(*most);
      return;  // the next turn goes on
    }
    if (!std::exchange(has_rested_, true)) {
      agent_.send(StoreNotice{"no descriptor is left for another connection to the store: it waits"});
    }
    rests_until_ = Clock::now() + kRest;
    poller_.change(listener_, kListener, 0);
  }

  void take_in(UniqueFd fd, const tcp::endpoint& remote) {
    const std::string peer = peer_of(fd.get(), remote);
    if (!admission_.admits(peer)) {
      return;
    }
    const int on = 1;  // small answers are slower without it
    (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const ClientId id = ++last_;
    store_.on_opened(id, peer);
    const StoreClient& client = clients_.try_emplace(id, StoreClient{std::move(fd)}).first->second;
    poller_.add(client.fd.get(), id, kClientEvents);
    close_excess_clients();
  }

  /// Closes clients that use most of an exhausted shared resource.
  void close_excess_clients() {
    while (const auto some = store_.clients_to_close()) {
      close_all(*some);
    }
  }
  void close_all(const store::ClosedClients& some) {
    agent_.warn(some.why.message);
    for (const ClientId id : some.clients) {
      close(id);
    }
  }

  void refuse(ClientId id, const Error& why) {
    agent_.warn(why.message);
    close(id);
  }

  void close(ClientId id) {
    store_.on_closed(id);
    clients_.erase(id);
  }

  // Requests.
  void read(ClientId id) {
    const auto at = clients_.find(id);
    if (at == clients_.end()) {
      return;
    }
    const ssize_t size = ::recv(at->second.fd.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size > 0) {
      on_bytes(id, at->second, {buffer_.data(), static_cast<std::size_t>(size)});
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      close(id);
    }
  }

  void on_bytes(ClientId id, StoreClient& client, std::string_view bytes) {
    client.silent_until.reset();
    if (const auto taken = store_.on_bytes(id, bytes); !taken) {
      refuse(id, taken.error());
      return;
    }
    if (store_.awaits_silence(id)) {
      client.silent_until = Clock::now() + kSilence;
      silences_.emplace_back(*client.silent_until, id);
    }
    close_excess_clients();
  }

  std::optional<milliseconds> time_to_wait() const {
    if (has_more_answers_) {
      return milliseconds(0);
    }
    std::optional<Clock::time_point> until = rests_until_;
    if (!silences_.empty()) {
      until = std::min(until.value_or(silences_.front().first), silences_.front().first);
    }
    return until ? std::optional(std::max(std::chrono::ceil<milliseconds>(*until - Clock::now()), milliseconds(0)))
                 : std::nullopt;
  }

  void check_clock() {
    if (!rests_until_ && silences_.empty()) {
      return;
    }
    const auto now = Clock::now();
    if (rests_until_ && now >= *rests_until_) {
      rests_until_.reset();
      poller_.change(listener_, kListener, EPOLLIN);
    }
    for (; !silences_.empty() && now >= silences_.front().first; silences_.pop_front()) {
      handle_silence(silences_.front().second, now);
    }
  }

  void handle_silence(ClientId id, Clock::time_point now) {
    const auto at = clients_.find(id);
    if (at == clients_.end() || !at->second.silent_until || now < *at->second.silent_until ||
        !store_.awaits_silence(id)) {
      return;  // it has sent bytes meanwhile
    }
    if (const auto settled = store_.on_silence(id); !settled) {
      refuse(id, settled.error());
    }
  }

  void answer_some() {
    for (int i = 0; i < kMostAnswers; ++i) {
      auto answer = store_.next_answer();
      has_more_answers_ = answer.has_value();
      if (!answer) {
        return;
      }
      const auto at = clients_.find(answer->client);
      if (at != clients_.end()) {
        at->second.answer = std::move(answer->bytes);
        at->second.sent = 0;
        write(at->first, at->second);
      }
    }
  }

  void write(ClientId id, StoreClient& client) {
    const ssize_t size = ::send(client.fd.get(), client.answer.data() + client.sent, client.answer.size() - client.sent,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    client.sent += static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    if (client.sent == client.answer.size()) {
      client.answer = {};
      store_.on_written(id);
    } else if (size < 0 && errno != EAGAIN && errno != EINTR) {
      close(id);
    } else {
      poller_.change(client.fd.get(), id, kClientEvents | EPOLLOUT);
    }
  }

  /// Reports the first rank of a rendezvous, and the last one.
  void follow_arrivals() {
    const store::InitBarrier init_barrier = store_.init_barrier();
    if (init_barrier.ranks == 0 || init_barrier.generation < notified_.generation) {
      return;  // a later one is already over
    }
    const bool has_begun = init_barrier.generation > notified_.generation || notified_.ranks == 0;
    const bool is_complete = init_barrier.ranks >= expected_;
    if (has_begun || (is_complete && notified_.ranks < expected_)) {
      notified_ = init_barrier;
      agent_.send(StoreStatus{init_barrier.generation, expected_, is_complete});
    }
  }

  /// Reads the agent's requests, first in a turn: the agent asks who waits, then stops the ranks; then none waits.
  void read_requests(Events events) {
    for (const epoll_event& event : events) {
      if (event.data.u64 == kAgent) {
        answer_the_agent(agent_.on_ready(event.events));
      }
    }
  }

  void answer_the_agent(const std::string& questions) {
    for (const char question : questions) {
      if (question == kWhoArrived) {
        send_joined_ranks();
      } else {
        agent_.send(store::most_awaited(store_.waiting(store::kMostAwaitedKeys)));
      }
    }
  }

  void send_joined_ranks() {
    store::JoinedRanks joined_ranks = store_.joined_ranks();
    const bool is_complete = joined_ranks.ranks.size() >= expected_;
    if (!joined_ranks.ranks.empty() && !is_complete) {
      agent_.send(StoreStatus{joined_ranks.generation, expected_, false, std::move(joined_ranks.ranks)});
    }
  }

  Poller poller_;
  int listener_;
  AgentLink agent_;
  IpAllowList admission_;
  std::size_t expected_;
  store::Store store_;
  store::InitBarrier notified_;
  std::unordered_map<ClientId, StoreClient> clients_;
  ClientId last_ = kAgent;
  std::deque<std::pair<Clock::time_point, ClientId>> silences_;  ///< all have the same length
  std::optional<Clock::time_point> rests_until_;
  bool has_rested_ = false;
  bool has_more_answers_ = false;
  std::array<char, std::size_t{64} << 10U> buffer_{};
};

/// Sends the agent a last message, and waits until the agent has read it and kills this process: if a rank lost its
/// connection earlier, that would be taken for the first failure.
void print_fatal(int agent, const std::string& message) {
  (void)write_all(agent, message, std::chrono::seconds(1));
  pollfd readable{agent, POLLIN, 0};
  char byte = 0;
  while (::poll(&readable, 1, -1) > 0 && ::recv(agent, &byte, 1, MSG_DONTWAIT) > 0) {
  }
}

}  // namespace

void serve_store(const StoreChannel& ends, const StoreJob& job) {
  // Allocated in advance: when they are needed, there is no memory left.
  const std::string end = write_message(StoreEnd{"it has no memory left for what the ranks keep in it"});
  const UniqueFd agent(::fcntl(ends.agent, F_DUPFD_CLOEXEC, 0));
  std::optional<StoreLoop> loop;  // keeps clients connected until the agent knows
  try {
    loop.emplace(ends, job);
    loop->run();
  } catch (const std::bad_alloc&) {
    print_fatal(agent.get(), end);
  } catch (const std::exception& error) {
    print_fatal(agent.get(), write_message(StoreEnd{error.what()}));
  }
}

}  // namespace muster
