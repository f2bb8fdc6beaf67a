// The end that connects sends a hello with a proof, so that a stranger is told nothing; the other end answers it with a proof,
// and gets the last one. Each proof holds for one round and for what both ends have drawn by chance.
#include "preflight/link_meeting.hpp"

#include "base/random.hpp"
#include "gang/net/token.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace muster::preflight {
namespace {

using gang::LinkStep;
using std::chrono::milliseconds;

/// A connection that is not there by then is tried again, and has twice the time: a lost packet would cost a second.
constexpr milliseconds kConnectTime{100};
/// Between tries while nobody listens there.
constexpr milliseconds kRefusedPause{20};
/// A node that has tried for less time does not call its partner silent.
constexpr milliseconds kLeastTryTime{200};
/// A node that begins to measure this long after the question does not call its partners silent.
constexpr milliseconds kMostLateness{200};
/// Connections that are kept; the oldest one of a stranger makes room.
constexpr std::size_t kMostPeers = 256;
/// Most connections accepted in one turn, so that they are read before others push them out.
constexpr int kMostAccepted = 64;
/// If more strangers connect, the kernel may have dropped a partner's connection: it is not called silent.
constexpr std::size_t kFewStrangers = 16;

constexpr std::size_t kNonceSize = 32;
constexpr std::size_t kLinkProofSize = 64;
constexpr std::size_t kAnswerSize = kNonceSize + kLinkProofSize;
constexpr std::size_t kHelloSize = 1 + kAnswerSize;  // the round is a letter

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

std::string letter_of(std::size_t round) {
  return {static_cast<char>('a' + round)};
}

/// Text that is proven: no proof serves for another message, round or connection.
std::string proven_text(const char* message, std::size_t round, std::string_view nonces) {
  return (message + letter_of(round)).append(nonces);
}

/// False: a new connection has room for any message.
bool send_message(int socket, const std::string& text) {
  return ::send(socket, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

}  // namespace

int time_left(std::chrono::steady_clock::time_point end) {
  const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::max<decltype(left)>(left, 0));
}

std::optional<LinkListener> listen_for_links(const std::string& address, std::uint16_t least, std::uint16_t most) {
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    const auto number = random_number();
    const auto port = static_cast<std::uint16_t>(least + (number ? *number : 0) % (most - least + 1U));
    auto at = make_socket_address(address, port);
    UniqueFd socket = at ? make_socket(*at) : UniqueFd();
    if (socket && ::bind(socket.get(), at->get(), at->size) == 0 && ::listen(socket.get(), SOMAXCONN) == 0) {
      return LinkListener{std::move(socket), port};
    }
  }
  return std::nullopt;
}

LinkMeeting::LinkMeeting(int listener, std::string key, const gang::LinkPlan& plan, Clock::time_point begin)
    : listener_(listener),
      key_(std::move(key)),
      plan_(plan),
      was_in_time_(Clock::now() <= begin + kMostLateness),
      rounds_(plan.steps.size()) {}

void LinkMeeting::run_until(Clock::time_point end) {
  while (time_left(end) > 0) {
    turn(end);
  }
}

UniqueFd LinkMeeting::meet(std::size_t round, Clock::time_point end) {
  bool is_over = false;
  while (!rounds_[round].partner && !is_over) {
    is_over = time_left(end) == 0;  // then once more: what has come by now counts
    turn(end);
  }
  first_open_ = round + 1;
  std::erase_if(peers_, [round](const Peer& peer) { return peer.round == round; });
  return std::move(rounds_[round].partner);
}

bool LinkMeeting::is_silent(std::size_t round) const {
  const Round& tried = rounds_[round];
  if (tried.was_reached || plan_.steps[round].kind == LinkStep::Kind::Rest) {
    return false;
  }
  constexpr int kFewestTries = 2;
  return connects_in(round) ? tried.tries >= kFewestTries && Clock::now() >= tried.first_try + kLeastTryTime
                            : was_in_time_ && strangers_ <= kFewStrangers;
}

/// Takes what the kernel has before a time is over: this process may have waited for a CPU.
void LinkMeeting::turn(Clock::time_point end) {
  begin_tries();
  std::vector<pollfd> ready{{listener_, POLLIN, 0}};
  for (const Peer& peer : peers_) {
    ready.push_back({peer.socket.get(), static_cast<short>(peer.stage == Stage::Connected ? POLLOUT : POLLIN), 0});
  }
  (void)::poll(ready.data(), ready.size(), time_left(next_due(end)));
  const auto now = Clock::now();
  for (std::size_t i = peers_.size(); i > 0; --i) {
    Peer& peer = peers_[i - 1];
    const bool is_over = peer.stage == Stage::Connected && ready[i].revents == 0 && now >= peer.until;
    const bool is_of_use = !is_over && (ready[i].revents == 0 || serve(peer));
    if (!is_of_use) {
      give_up(peer);
    }
    if (!is_of_use || !peer.socket) {  // its round has taken the socket, because it is the partner
      peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
  }
  if (ready[0].revents != 0) {
    accept_some();
  }
}

bool LinkMeeting::connects_in(std::size_t round) const {
  return plan_.steps[round].kind == LinkStep::Kind::Connect;
}

void LinkMeeting::begin_tries() {
  const auto now = Clock::now();
  for (std::size_t round = first_open_; round < rounds_.size(); ++round) {
    const Round& tried = rounds_[round];
    if (connects_in(round) && !tried.partner && !tried.is_trying && now >= tried.next_try) {
      begin_try(round);
    }
  }
}

LinkMeeting::Clock::time_point LinkMeeting::next_due(Clock::time_point end) const {
  for (std::size_t round = first_open_; round < rounds_.size(); ++round) {
    if (connects_in(round) && !rounds_[round].partner && !rounds_[round].is_trying) {
      end = std::min(end, rounds_[round].next_try);
    }
  }
  for (const Peer& peer : peers_) {
    end = peer.stage == Stage::Connected ? std::min(end, peer.until) : end;
  }
  return end;
}

// --- The end that connects ------------------------------------------------------------------------

void LinkMeeting::begin_try(std::size_t round) {
  constexpr int kMostDoublings = 3;
  Round& tried = rounds_[round];
  const LinkStep& step = plan_.steps[round];
  const auto now = Clock::now();
  tried.next_try = now + kRefusedPause;
  auto address = make_socket_address(step.address, step.port);
  UniqueFd socket = address ? make_socket(*address) : UniqueFd();
  if (!socket) {
    return;
  }
  tried.first_try = tried.tries == 0 ? now : tried.first_try;
  const auto most = kConnectTime * (1 << std::min(tried.tries, kMostDoublings));
  ++tried.tries;
  if (::connect(socket.get(), address->get(), address->size) == 0 || errno == EINPROGRESS) {
    tried.is_trying = true;
    peers_.push_back({std::move(socket), Stage::Connected, round, {}, {}, now + most});
  }
}

void LinkMeeting::give_up(const Peer& peer) {
  const bool is_own_try = peer.round && connects_in(*peer.round);
  if (is_own_try) {
    const bool has_timed_out = peer.stage == Stage::Connected && Clock::now() >= peer.until;
    rounds_[*peer.round].is_trying = false;
    rounds_[*peer.round].next_try = Clock::now() + (has_timed_out ? milliseconds(0) : kRefusedPause);
  }
}

bool LinkMeeting::greet(Peer& peer) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(peer.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
    return false;
  }
  rounds_[*peer.round].was_reached = true;
  auto nonce = random_digits();
  if (!nonce) {
    return false;
  }
  peer.nonces = *std::move(nonce);
  peer.stage = Stage::Answer;
  const std::string proof = gang::prove(plan_.steps[*peer.round].key, proven_text("hello", *peer.round, peer.nonces));
  return send_message(peer.socket.get(), letter_of(*peer.round) + peer.nonces + proof);
}

bool LinkMeeting::take_answer(Peer& peer) {
  const std::string& key = plan_.steps[*peer.round].key;
  const std::string proof = peer.got.substr(kNonceSize);
  peer.nonces += peer.got.substr(0, kNonceSize);
  if (!gang::is_proof(proof, key, proven_text("answer", *peer.round, peer.nonces)) ||
      !send_message(peer.socket.get(), gang::prove(key, proven_text("last", *peer.round, peer.nonces)))) {
    return false;
  }
  rounds_[*peer.round].partner = std::move(peer.socket);
  return true;
}

// --- The end that listens -------------------------------------------------------------------------

void LinkMeeting::accept_some() {
  for (int i = 0; i < kMostAccepted; ++i) {
    UniqueFd socket(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool has_no_descriptor = !socket && errno == EMFILE;
    if (has_no_descriptor || peers_.size() >= kMostPeers) {
      drop_oldest_stranger();
    }
    if (!socket) {
      return;
    }
    ++strangers_;
    peers_.push_back({std::move(socket)});
  }
}

/// Drops the oldest connection that has not shown the key. If all have shown it, drops the oldest of those that still owe the
/// last proof, because it may be somebody who repeats the hello of a partner.
void LinkMeeting::drop_oldest_stranger() {
  auto oldest = std::ranges::find(peers_, Stage::Hello, &Peer::stage);
  oldest = oldest != peers_.end() ? oldest : std::ranges::find(peers_, Stage::Last, &Peer::stage);
  if (oldest != peers_.end()) {
    peers_.erase(oldest);
  }
}

bool LinkMeeting::take_hello(Peer& peer) {
  const auto round = static_cast<std::size_t>(peer.got[0] - 'a');
  const std::string nonce = peer.got.substr(1, kNonceSize);
  const bool is_open =
      round >= first_open_ && round < rounds_.size() && plan_.steps[round].kind == LinkStep::Kind::Listen;
  if (!is_open || !gang::is_proof(peer.got.substr(1 + kNonceSize), key_, proven_text("hello", round, nonce))) {
    return false;
  }
  --strangers_;
  rounds_[round].was_reached = true;
  const auto own = random_digits();
  if (!own) {
    return false;
  }
  peer.round = round;
  peer.nonces = nonce + *own;
  peer.stage = Stage::Last;
  return send_message(peer.socket.get(), *own + gang::prove(key_, proven_text("answer", round, peer.nonces)));
}

bool LinkMeeting::take_last(Peer& peer) {
  if (!gang::is_proof(peer.got, key_, proven_text("last", *peer.round, peer.nonces))) {
    return false;
  }
  rounds_[*peer.round].partner = std::move(peer.socket);
  return true;
}

// --- Both -----------------------------------------------------------------------------------------

/// Reads no byte behind the message. False: the connection is of no use.
bool LinkMeeting::serve(Peer& peer) {
  if (peer.stage == Stage::Connected) {
    return greet(peer);
  }
  const std::size_t size = peer.stage == Stage::Hello    ? kHelloSize
                           : peer.stage == Stage::Answer ? kAnswerSize
                                                         : kLinkProofSize;
  std::array<char, kHelloSize> bytes{};
  const ssize_t count = ::recv(peer.socket.get(), bytes.data(), size - peer.got.size(), MSG_DONTWAIT);
  if (count <= 0) {
    return count < 0 && errno == EAGAIN;
  }
  peer.got.append(bytes.data(), static_cast<std::size_t>(count));
  if (peer.got.size() < size) {
    return true;
  }
  const bool is_of_use = peer.stage == Stage::Hello    ? take_hello(peer)
                         : peer.stage == Stage::Answer ? take_answer(peer)
                                                       : take_last(peer);
  peer.got.clear();
  return is_of_use;
}

}  // namespace muster::preflight
