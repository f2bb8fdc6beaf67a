// Two nodes on this host measure the link between them, among strangers.
#include "preflight/measure_links.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace muster::preflight {
namespace {

using gang::LinkPlan;
using gang::LinkStep;

const std::string kKey(32, 'k');

LinkListener listen_here() {
  return listen_for_links("127.0.0.1", 5'000, 10'000).value();
}

LinkStep connecting(const LinkListener& to, std::string key = kKey) {
  return {LinkStep::Kind::Connect, "127.0.0.1", to.port, std::move(key)};
}

sockaddr_in address_of(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

UniqueFd stranger_at(const LinkListener& listener, const std::string& says) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(listener.port);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(socket.get(), says.data(), says.size(), MSG_NOSIGNAL), static_cast<ssize_t>(says.size()));
  return socket;
}

bool is_measured(const std::optional<gang::LinkResult>& result) {
  return result && !result->is_silent;
}

std::future<gang::LinkResults> measure_beside(const LinkListener& listener, std::vector<LinkStep> steps) {
  return std::async(std::launch::async, [fd = listener.socket.get(), plan = LinkPlan{1, std::move(steps)}] {
    return measure_links(fd, kKey, plan, std::chrono::steady_clock::now());
  });
}

TEST(MeasureLinks, BothEndsTellWhatTheLinkIsLike) {
  const LinkListener one = listen_here();
  const LinkListener other = listen_here();
  auto first = measure_beside(one, {{LinkStep::Kind::Listen}, {LinkStep::Kind::Rest}, connecting(other)});
  auto second = measure_beside(other, {connecting(one), {LinkStep::Kind::Rest}, {LinkStep::Kind::Listen}});
  for (const auto& results : {first.get(), second.get()}) {
    ASSERT_EQ(results.rounds.size(), 3U);
    EXPECT_FALSE(results.rounds[1]);
    for (const std::size_t round : {0U, 2U}) {
      ASSERT_TRUE(is_measured(results.rounds[round])) << round;
      EXPECT_GT(results.rounds[round]->throughput, 1'000) << "loopback has more than 1 Mb/s";
      EXPECT_GT(results.rounds[round]->latency, 0);
      EXPECT_LT(results.rounds[round]->latency, 1'000'000);
    }
  }
}

TEST(MeasureLinks, AStrangerChangesNothingAndIsToldNothing) {
  const LinkListener one = listen_here();
  std::vector<UniqueFd> strangers;
  for (const std::string& says :
       {std::string(), std::string("k"), std::string(33, 'x'), kKey + "b", std::string("GET /\r\n")}) {
    strangers.push_back(stranger_at(one, says));
  }
  auto first = measure_beside(one, {{LinkStep::Kind::Listen}});
  auto second = measure_beside(listen_here(), {connecting(one)});
  EXPECT_TRUE(is_measured(first.get().rounds[0]));
  EXPECT_TRUE(is_measured(second.get().rounds[0]));
  for (const UniqueFd& stranger : strangers) {
    char byte = 0;
    EXPECT_LE(::recv(stranger.get(), &byte, 1, 0), 0) << "closed without a byte";
  }
}

TEST(MeasureLinks, APartnerThatDoesNotComeDelaysNoOtherRound) {
  const LinkListener one = listen_here();
  const LinkListener other = listen_here();
  LinkListener gone = listen_here();
  const LinkStep to_nobody = connecting(gone);
  gone.socket.reset();
  auto first = measure_beside(one, {to_nobody, {LinkStep::Kind::Listen}});
  auto second = measure_beside(other, {{LinkStep::Kind::Listen}, connecting(one)});
  for (const auto& results : {first.get(), second.get()}) {
    ASSERT_TRUE(results.rounds[0]);
    EXPECT_TRUE(results.rounds[0]->is_silent) << "this node was there";
    EXPECT_TRUE(is_measured(results.rounds[1]));
  }
}

/// Strangers on threads of their own that connect for as long as this lives: some say nothing, some half of a hello, some what is
/// none. Each keeps its last hundred connections open, also those that are not accepted.
class Flood {
 public:
  explicit Flood(const LinkListener& listener) {
    for (const std::size_t bytes : {0U, 0U, 40U, 97U}) {
      strangers_.push_back(std::async(std::launch::async, [this, at = listener.port, said = std::string(bytes, 'a')] {
        std::deque<UniqueFd> open;
        while (!is_over_) {
          open.push_back(connect_and_say(at, said));
          if (open.size() > 100) {
            open.pop_front();
          }
          ++connections_;
        }
      }));
    }
  }
  ~Flood() { is_over_ = true; }

  int connections() const { return connections_; }

 private:
  static UniqueFd connect_and_say(std::uint16_t port, const std::string& said) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const linger at_once{1, 0};  // keeps no port in use
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    const sockaddr_in address = address_of(port);
    (void)::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    pollfd ready{socket.get(), POLLOUT, 0};
    if (!said.empty() && ::poll(&ready, 1, 5) == 1) {
      (void)::send(socket.get(), said.data(), said.size(), MSG_NOSIGNAL);
    }
    return socket;
  }

  std::atomic<bool> is_over_ = false;
  std::atomic<int> connections_ = 0;
  std::vector<std::future<void>> strangers_;
};

TEST(MeasureLinks, AFloodOfStrangersHidesNoPartner) {
  const LinkListener one = listen_here();
  const LinkListener other = listen_here();
  const Flood flood(one);
  auto first = measure_beside(one, {{LinkStep::Kind::Listen}, {LinkStep::Kind::Listen}, {LinkStep::Kind::Listen}});
  auto second = measure_beside(other, {connecting(one), connecting(one), connecting(one)});
  for (const auto& results : {first.get(), second.get()}) {
    for (const auto& result : results.rounds) {
      EXPECT_TRUE(is_measured(result)) << "among " << flood.connections() << " connections of strangers";
    }
  }
  EXPECT_GT(flood.connections(), 300);
}

/// The bytes that come until the other end closes; `answer` is sent behind the first `size` bytes.
std::string talk(int socket, std::size_t size, const std::string& answer) {
  std::string got;
  std::array<char, 1'000> bytes{};
  bool has_answered = false;
  for (ssize_t count = 1; count > 0;) {
    count = ::recv(socket, bytes.data(), bytes.size(), 0);
    got.append(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (!has_answered && got.size() >= size) {
      has_answered = true;
      EXPECT_EQ(::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(answer.size()));
    }
  }
  return got;
}

constexpr std::size_t kHello = 97;
constexpr std::size_t kAnswer = 96;

TEST(MeasureLinks, AStrangerWhoListensIsSentNeitherTheKeyNorData) {
  const LinkListener stranger = listen_here();
  auto victim = measure_beside(listen_here(), {connecting(stranger)});
  pollfd ready{stranger.socket.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 60'000), 1);
  const UniqueFd socket(::accept4(stranger.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const std::string got = talk(socket.get(), kHello, std::string(kAnswer, '0'));
  EXPECT_EQ(got.size(), kHello);
  EXPECT_EQ(got.find(kKey.substr(0, 8)), std::string::npos);
  EXPECT_FALSE(victim.get().rounds[0]) << "somebody has answered";
}

/// The stranger has the hello from a partner that connected to it.
TEST(MeasureLinks, ARepeatedHelloOpensNoRound) {
  const LinkListener stranger = listen_here();
  auto partner = measure_beside(listen_here(), {connecting(stranger)});
  pollfd ready{stranger.socket.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 60'000), 1);
  UniqueFd caught(::accept4(stranger.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::string hello(kHello, ' ');
  ASSERT_EQ(::recv(caught.get(), hello.data(), hello.size(), MSG_WAITALL), static_cast<ssize_t>(kHello));

  const LinkListener one = listen_here();
  auto victim = measure_beside(one, {{LinkStep::Kind::Listen}});
  const UniqueFd again = stranger_at(one, hello);
  EXPECT_EQ(talk(again.get(), kAnswer, hello.substr(33)).size(), kAnswer) << "no data";
  EXPECT_FALSE(is_measured(victim.get().rounds[0]));
  EXPECT_FALSE(is_measured(partner.get().rounds[0]));
}

/// Its kernel answers its partner, which calls it not silent either.
TEST(MeasureLinks, ALateNodeCallsNobodySilent) {
  const LinkListener late = listen_here();
  const LinkListener other = listen_here();
  auto second = measure_beside(other, {connecting(late), {LinkStep::Kind::Rest}});
  EXPECT_FALSE(second.get().rounds[0]);
  const auto results = measure_links(late.socket.get(), kKey, {1, {{LinkStep::Kind::Listen}, connecting(other)}},
                                     std::chrono::steady_clock::now() - 3 * gang::kLinkRoundTime);
  EXPECT_FALSE(results.rounds[0]);
  EXPECT_FALSE(results.rounds[1]);
}

TEST(MeasureLinks, OnlyTheKeyOpensAPort) {
  const LinkListener one = listen_here();
  auto first = measure_beside(one, {{LinkStep::Kind::Listen}});
  auto second = measure_beside(listen_here(), {connecting(one, std::string(32, 'x'))});
  EXPECT_FALSE(is_measured(first.get().rounds[0]));
  EXPECT_FALSE(second.get().rounds[0]) << "its kernel has answered";
}

TEST(MeasureLinks, AnAddressOfAnotherNodeIsNotListenedAt) {
  EXPECT_FALSE(listen_for_links("192.0.2.1", 5'000, 10'000));
  EXPECT_FALSE(listen_for_links("gpu-3", 5'000, 10'000));
}

}  // namespace
}  // namespace muster::preflight
