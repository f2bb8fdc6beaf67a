// Two nodes on this host measure the link between them, among strangers.
#include "preflight/measure_links.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
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

UniqueFd stranger_at(const LinkListener& listener, const std::string& says) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(listener.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(socket.get(), says.data(), says.size(), MSG_NOSIGNAL), static_cast<ssize_t>(says.size()));
  return socket;
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
      ASSERT_TRUE(results.rounds[round]) << round;
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
  EXPECT_TRUE(first.get().rounds[0]);
  EXPECT_TRUE(second.get().rounds[0]);
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
    EXPECT_FALSE(results.rounds[0]);
    EXPECT_TRUE(results.rounds[1]);
  }
}

TEST(MeasureLinks, OnlyTheKeyOpensAPort) {
  const LinkListener one = listen_here();
  auto first = measure_beside(one, {{LinkStep::Kind::Listen}});
  auto second = measure_beside(listen_here(), {connecting(one, std::string(32, 'x'))});
  EXPECT_FALSE(first.get().rounds[0]);
  EXPECT_FALSE(second.get().rounds[0]);
}

TEST(MeasureLinks, AnAddressOfAnotherNodeIsNotListenedAt) {
  EXPECT_FALSE(listen_for_links("192.0.2.1", 5'000, 10'000));
  EXPECT_FALSE(listen_for_links("gpu-3", 5'000, 10'000));
}

}  // namespace
}  // namespace muster::preflight
