// The two ends of a link, with and without a token, without a socket between them.
#include "gang/net/channel.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace muster::gang {
namespace {

using namespace std::string_literals;

GangKey key_of(const std::string& token) {
  return std::move(*GangKey::derive(token));
}

/// One end, and what it has seen.
struct End {
  std::unique_ptr<Channel> channel;
  std::string received;
  std::string error;
};

End make_end(const std::optional<std::string>& token, Side side) {
  if (!token) {
    return {make_channel(nullptr, side), "", ""};
  }
  const GangKey key = key_of(*token);
  return {make_channel(&key, side), "", ""};
}

/// Hands over what `from` has to say; false when there is nothing.
bool deliver(End& from, End& to, std::size_t chunk) {
  const std::string wire = from.channel->take_outgoing();
  for (std::size_t at = 0; at < wire.size() && to.error.empty(); at += chunk) {
    const auto plaintext = to.channel->receive(std::string_view(wire).substr(at, chunk));
    if (plaintext) {
      to.received += *plaintext;
    } else {
      to.error = plaintext.error().message;
    }
  }
  return !wire.empty();
}

struct Pair {
  End leader;
  End agent;

  void talk(std::size_t chunk = 1'000'000) {
    while (deliver(agent, leader, chunk) || deliver(leader, agent, chunk)) {
    }
  }
};

Pair pair_of(const std::optional<std::string>& leader, const std::optional<std::string>& agent) {
  return {make_end(leader, Side::Leader), make_end(agent, Side::Agent)};
}

const std::string kToken = "0123456789abcdef";
const std::string kFrame = "\0\0\0\3abc"s;

TEST(Channel, IsEstablishedAtOnceWithoutAToken) {
  Pair pair = pair_of({}, {});
  EXPECT_TRUE(pair.leader.channel->is_established());
  pair.agent.channel->send(kFrame);
  EXPECT_EQ(pair.agent.channel->take_outgoing(), kFrame);
}

TEST(Channel, CarriesBytesBothWays) {
  for (const auto& token : {std::optional<std::string>(), std::optional(kToken)}) {
    for (const std::size_t chunk : {1'000'000, 1'000, 7, 1}) {
      Pair pair = pair_of(token, token);
      pair.agent.channel->send(kFrame);  // before it is established
      pair.talk(chunk);
      EXPECT_EQ(pair.leader.received, kFrame);
      EXPECT_TRUE(pair.agent.channel->is_established());
      EXPECT_TRUE(pair.leader.channel->is_established());

      const std::string large = kFrame + std::string(100'000, 'x');
      pair.leader.channel->send(large);
      pair.agent.channel->send("more");
      pair.talk(chunk);
      EXPECT_TRUE(pair.agent.received == large);
      EXPECT_EQ(pair.leader.received, kFrame + "more");
      EXPECT_EQ(pair.leader.error + pair.agent.error, "");
    }
  }
}

TEST(Channel, ShowsNothingOnTheWireWithAToken) {
  Pair pair = pair_of(kToken, kToken);
  pair.talk();
  pair.agent.channel->send("what nobody may read");
  const std::string wire = pair.agent.channel->take_outgoing();
  EXPECT_FALSE(wire.empty());
  EXPECT_EQ(wire.find("nobody"), std::string::npos);
}

TEST(Channel, SaysOnBothSidesThatTheTokensDiffer) {
  Pair pair = pair_of(kToken, kToken + "x");
  pair.agent.channel->send(kFrame);
  pair.talk();
  EXPECT_EQ(pair.leader.error, "has another token");
  EXPECT_EQ(pair.agent.error, "has another token");
  EXPECT_EQ(pair.leader.received + pair.agent.received, "");
  EXPECT_FALSE(pair.agent.channel->is_established());
}

TEST(Channel, SaysOnBothSidesThatTheAgentHasNoToken) {
  Pair pair = pair_of(kToken, {});
  pair.agent.channel->send(kFrame);
  pair.talk();
  EXPECT_EQ(pair.leader.error, "speaks without a token, and this job has one");
  EXPECT_EQ(pair.agent.error, "has a token, and this agent has none");
}

TEST(Channel, SaysOnBothSidesThatTheJobHasNoToken) {
  Pair pair = pair_of({}, kToken);
  pair.agent.channel->send(kFrame);
  pair.talk();
  EXPECT_EQ(pair.leader.error, "has a token, and this job has none");
  EXPECT_EQ(pair.agent.error, "speaks without a token, and this agent has one");
}

TEST(Channel, RefusesGarbage) {
  for (const Side side : {Side::Leader, Side::Agent}) {
    for (const std::string& garbage :
         {"GET / HTTP/1.1\r\n\r\n"s, "\x16garbage that is long enough"s, "\x15\x03\x03\0\2\2\x28"s}) {
      End end = make_end(kToken, side);
      const auto plaintext = end.channel->receive(garbage);
      ASSERT_FALSE(plaintext) << garbage;
      EXPECT_FALSE(plaintext.error().message.empty());
    }
  }
  End end = make_end(kToken, Side::Leader);
  EXPECT_EQ(end.channel->receive("GET /").error().message, "speaks neither TLS nor muster's language");
}

TEST(Channel, RefusesWhatWasChangedOnItsWay) {
  Pair pair = pair_of(kToken, kToken);
  pair.talk();
  pair.agent.channel->send("important");
  std::string wire = pair.agent.channel->take_outgoing();
  wire.back() = static_cast<char>(wire.back() ^ 1);
  const auto plaintext = pair.leader.channel->receive(wire);
  ASSERT_FALSE(plaintext);
  EXPECT_EQ(plaintext.error().message, "breaks the rules of TLS (decryption failed or bad record mac)");
}

TEST(Channel, WaitsForTheRestOfARecord) {
  Pair pair = pair_of(kToken, kToken);
  pair.talk();
  pair.agent.channel->send("important");
  const std::string wire = pair.agent.channel->take_outgoing();
  EXPECT_EQ(*pair.leader.channel->receive(wire.substr(0, wire.size() - 1)), "");
  EXPECT_EQ(*pair.leader.channel->receive(wire.substr(wire.size() - 1)), "important");
}

TEST(Channel, ServesManyLinksWithOneKey) {
  for (int i = 0; i < 100; ++i) {
    Pair pair = pair_of(kToken, kToken);
    pair.agent.channel->send(kFrame);
    pair.talk();
    ASSERT_EQ(pair.leader.received, kFrame);
  }
}

}  // namespace
}  // namespace muster::gang
