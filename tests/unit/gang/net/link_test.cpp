// Links over real sockets of this machine, with friends and with strangers at the other end.
#include "gang/net/link.hpp"

#include "base/frame.hpp"
#include "gang/net/loop.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <vector>

namespace muster::gang {
namespace {

using namespace std::string_literals;
using boost::asio::ip::tcp;
using Side = Link::Side;

const GangKey& key() {
  static const GangKey key = std::move(*GangKey::derive("0123456789abcdef"));
  return key;
}

Join join_of_link() {
  Join join;
  join.incarnation = "0123456789abcdef";
  join.node.host = "worker-1";
  return join;
}

/// A link and what it has seen.
struct LinkEnd final : public LinkOwner {
  LinkEnd(tcp::socket socket, const GangKey* link_key, Side side)
      : link(std::make_unique<Link>(std::move(socket), link_key, side, *this)) {}

  void on_message(LinkId /*number*/, Message message) override {
    messages.push_back(std::move(message));
    destroy_if_brief();
  }
  void on_lost(LinkId /*number*/, const std::string& why) override {
    lost.push_back(why);
    destroy_if_brief();
  }
  void on_bytes_before_join(LinkId /*number*/, bool is_established) override { signs.push_back(is_established); }
  void on_closed(LinkId /*number*/) override { is_closed = true; }
  void destroy_if_brief() {
    if (is_brief) {
      link.reset();
    }
  }

  std::unique_ptr<Link> link;
  bool is_brief = false;  ///< destroyed by its first event
  std::vector<Message> messages;
  std::vector<std::string> lost;
  std::vector<bool> signs;
  bool is_closed = false;
};

/// A leader's end and an agent's, started.
struct LinkPair {
  explicit LinkPair(boost::asio::io_context& io, const GangKey* link_key = nullptr)
      : LinkPair(connected_pair(io), link_key) {}
  LinkPair(Sockets sockets, const GangKey* link_key)
      : leader(std::move(sockets.first), link_key, Side::Leader),
        agent(std::move(sockets.second), link_key, Side::Agent) {
    leader.link->start();
    agent.link->start();
  }

  LinkEnd leader;
  LinkEnd agent;
};

/// A leader's end with a stranger at the other.
struct Stranger {
  explicit Stranger(boost::asio::io_context& io, const GangKey* link_key = nullptr)
      : Stranger(connected_pair(io), link_key) {}
  Stranger(Sockets sockets, const GangKey* link_key)
      : leader(std::move(sockets.first), link_key, Side::Leader), socket(std::move(sockets.second)) {}

  void write(const std::string& bytes) { boost::asio::write(socket, boost::asio::buffer(bytes)); }

  LinkEnd leader;
  tcp::socket socket;
};

class LinkTest : public testing::Test {
 protected:
  bool until(const std::function<bool()>& done) { return run_until(io_, done); }
  /// The leader's reason to close the link of a stranger that sends `bytes`.
  std::string verdict_on(const std::string& bytes, const GangKey* link_key = nullptr) {
    Stranger stranger(io_, link_key);
    stranger.leader.link->start();
    stranger.write(bytes);
    EXPECT_TRUE(until([&] { return !stranger.leader.lost.empty(); }));
    return stranger.leader.lost.empty() ? "nothing" : stranger.leader.lost.front();
  }

  boost::asio::io_context io_;
};

TEST_F(LinkTest, CarriesMessagesBothWays) {
  for (const GangKey* const link_key : {static_cast<const GangKey*>(nullptr), &key()}) {
    LinkPair pair(io_, link_key);
    pair.agent.link->send(join_of_link());
    ASSERT_TRUE(until([&] { return !pair.leader.messages.empty(); }));
    EXPECT_EQ(std::get<Join>(pair.leader.messages[0]).node.host, "worker-1");

    const auto waiting = std::make_shared<const std::string>(frame(encode(Waiting{"1 of 2"})));
    pair.leader.link->send_shared(waiting);
    pair.leader.link->send(Heartbeat{});
    ASSERT_TRUE(until([&] { return pair.agent.messages.size() == 2; }));
    EXPECT_EQ(std::get<Waiting>(pair.agent.messages[0]).progress, "1 of 2");
    EXPECT_TRUE(std::holds_alternative<Heartbeat>(pair.agent.messages[1]));
  }
}

TEST_F(LinkTest, CarriesTheLargestMessagesInOrder) {
  for (const GangKey* const link_key : {static_cast<const GangKey*>(nullptr), &key()}) {
    LinkPair pair(io_, link_key);
    pair.agent.link->send(join_of_link());
    ASSERT_TRUE(until([&] { return !pair.leader.messages.empty(); }));
    Stop stop;
    stop.end.emplace();
    stop.end->first_failure.emplace();
    stop.end->first_failure->last_lines.assign(40, std::string(2'000, 'x'));
    for (stop.attempt = 0; stop.attempt < 40; ++stop.attempt) {
      pair.leader.link->send(stop);  // 3.2 MiB: more than the socket takes at once
    }
    ASSERT_TRUE(until([&] { return pair.agent.messages.size() == 40; }));
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(std::get<Stop>(pair.agent.messages[static_cast<std::size_t>(i)]).attempt, i);
    }
  }
}

TEST_F(LinkTest, KnowsBothAddresses) {
  LinkPair pair(io_);
  EXPECT_EQ(pair.leader.link->peer_address(), "127.0.0.1");
  EXPECT_EQ(pair.agent.link->local_address(), "127.0.0.1");
}

TEST_F(LinkTest, UnmapsAnAddressOfVersionFour) {
  tcp::acceptor acceptor(io_);
  boost::system::error_code error;
  acceptor.open(tcp::v6(), error);
  if (error) {
    GTEST_SKIP() << "no IPv6 here";
  }
  acceptor.set_option(boost::asio::ip::v6_only(false));
  acceptor.bind(tcp::endpoint(tcp::v6(), 0));
  acceptor.listen();
  tcp::socket dialled(io_);
  dialled.connect({boost::asio::ip::address_v4::loopback(), acceptor.local_endpoint().port()});
  const LinkEnd leader(acceptor.accept(), nullptr, Side::Leader);
  EXPECT_EQ(leader.link->peer_address(), "127.0.0.1");
  EXPECT_EQ(leader.link->local_address(), "127.0.0.1");
}

TEST_F(LinkTest, SaysThatTheOtherEndClosedOrReset) {
  Stranger closes(io_);
  closes.leader.link->start();
  closes.socket.close();
  ASSERT_TRUE(until([&] { return !closes.leader.lost.empty(); }));
  EXPECT_EQ(closes.leader.lost[0], "closed the connection");

  Stranger resets(io_);
  resets.leader.link->start();
  resets.socket.set_option(boost::asio::socket_base::linger(true, 0));
  resets.socket.close();
  ASSERT_TRUE(until([&] { return !resets.leader.lost.empty(); }));
  EXPECT_EQ(resets.leader.lost[0], "reset the connection");
}

TEST_F(LinkTest, RefusesStrangers) {
  EXPECT_EQ(verdict_on("GET / HTTP/1.1\r\n\r\n"),
            "sent no muster message: a message of 1195725856 bytes, expected at most 65536");
  EXPECT_EQ(verdict_on(frame("hello")), "sent no muster message: no JSON: syntax error");
  EXPECT_EQ(verdict_on(frame(encode(Heartbeat{}))), "sent 'beat' first, expected 'join'");
  EXPECT_EQ(verdict_on("\0\1\0\1"s), "sent no muster message: a message of 65537 bytes, expected at most 65536");
  EXPECT_EQ(verdict_on("GET / HTTP/1.1\r\n\r\n", &key()), "speaks neither TLS nor muster's language");
}

TEST_F(LinkTest, SaysOnBothSidesThatOnlyOneHasAToken) {
  for (const bool leader_has_one : {true, false}) {
    Sockets sockets = connected_pair(io_);
    LinkEnd leader(std::move(sockets.first), leader_has_one ? &key() : nullptr, Side::Leader);
    LinkEnd agent(std::move(sockets.second), leader_has_one ? nullptr : &key(), Side::Agent);
    leader.link->start();
    agent.link->start();
    agent.link->send(join_of_link());
    ASSERT_TRUE(until([&] { return !leader.lost.empty() && !agent.lost.empty(); }));
    EXPECT_EQ(leader.lost[0],
              leader_has_one ? "speaks without a token, and this job has one" : "has a token, and this job has none");
    EXPECT_EQ(agent.lost[0], leader_has_one ? "has a token, and this agent has none"
                                            : "speaks without a token, and this agent has one");
  }
}

TEST_F(LinkTest, SaysOnBothSidesThatTheTokensDiffer) {
  const GangKey other = std::move(*GangKey::derive("another token of theirs"));
  Sockets sockets = connected_pair(io_);
  LinkEnd leader(std::move(sockets.first), &key(), Side::Leader);
  LinkEnd agent(std::move(sockets.second), &other, Side::Agent);
  leader.link->start();
  agent.link->start();
  agent.link->send(join_of_link());
  ASSERT_TRUE(until([&] { return !leader.lost.empty() && !agent.lost.empty(); }));
  EXPECT_EQ(leader.lost[0], "has another token");
  EXPECT_EQ(agent.lost[0], "has another token");
}

TEST_F(LinkTest, DoesNotWaitForASlowStranger) {
  for (const GangKey* const link_key : {static_cast<const GangKey*>(nullptr), &key()}) {
    Stranger stranger(io_, link_key);
    stranger.leader.link->start(std::chrono::milliseconds(50));
    stranger.write(link_key == nullptr ? "\0\0"s : "\x16\x03"s);
    ASSERT_TRUE(until([&] { return !stranger.leader.lost.empty(); }));
    EXPECT_EQ(stranger.leader.lost[0], "sent no join within 0.05 s");
  }
}

TEST_F(LinkTest, DoesNotLoseThePeerForItsOwnDelay) {
  constexpr std::size_t kMany = 200;  // more than Asio takes in one turn, before it looks at timers
  constexpr std::chrono::milliseconds kLimit{5};
  std::vector<std::unique_ptr<Stranger>> agents;
  for (std::size_t i = 0; i < kMany; ++i) {
    agents.push_back(std::make_unique<Stranger>(io_));
    agents.back()->leader.link->start(kLimit);
  }
  std::this_thread::sleep_for(2 * kLimit);  // the loop does something else
  for (const auto& agent : agents) {
    agent->write(frame(encode(join_of_link())));
  }

  for (const auto& agent : agents) {
    const LinkEnd& leader = agent->leader;
    EXPECT_TRUE(until([&] { return !leader.messages.empty() || !leader.lost.empty(); }));
    EXPECT_EQ(leader.messages.size(), 1U);
  }
}

TEST_F(LinkTest, HasNoDeadlineAfterTheJoin) {
  Stranger stranger(io_);
  stranger.leader.link->start(std::chrono::milliseconds(50));
  stranger.write(frame(encode(join_of_link())));
  ASSERT_TRUE(until([&] { return !stranger.leader.messages.empty(); }));
  run_ready(io_);  // the cancelled timer
  io_.restart();
  EXPECT_EQ(io_.run_for(std::chrono::milliseconds(100)), 0U);
  EXPECT_TRUE(stranger.leader.lost.empty());
}

TEST_F(LinkTest, IsLostWhenTheOtherEndDoesNotRead) {
  Stranger stranger(io_);
  stranger.leader.link->start();
  const Message words = Waiting{std::string(2'000, 'x')};
  for (int i = 0; i < 20'000; ++i) {
    stranger.leader.link->send(words);
  }
  EXPECT_TRUE(stranger.leader.lost.empty());  // not from within send
  ASSERT_TRUE(until([&] { return !stranger.leader.lost.empty(); }));
  EXPECT_EQ(stranger.leader.lost[0], "does not read what it is sent");
}

TEST_F(LinkTest, IsLostWhenTheOtherEndDoesNotReadSharedFrames) {
  Stranger stranger(io_);
  stranger.leader.link->start();
  const auto chunk = std::make_shared<const std::string>(
      frame(encode(Merged{{{"a", 0, 0, {}}, 32'768, 32'768, 0, std::string(32'768, 'x')}})));
  for (std::size_t sent = 0; sent < 2 * kMostBulkBytes; sent += chunk->size()) {
    stranger.leader.link->send_shared(chunk);
  }
  ASSERT_TRUE(until([&] { return !stranger.leader.lost.empty(); }));
  EXPECT_EQ(stranger.leader.lost[0], "does not read what it is sent");
  EXPECT_EQ(chunk.use_count(), 1);
}

/// Words that wait keep their order, and so does what the channel says itself.
TEST_F(LinkTest, LetsABeatOvertakeALargeValue) {
  for (const GangKey* const link_key : {static_cast<const GangKey*>(nullptr), &key()}) {
    LinkPair pair(io_, link_key);
    pair.agent.link->send(join_of_link());
    ASSERT_TRUE(until([&] { return !pair.leader.messages.empty(); }));
    const auto chunk = std::make_shared<const std::string>(
        frame(encode(Merged{{{"a", 0, 0, {}}, 32'768, 32'768, 0, std::string(32'768, 'x')}})));
    for (int i = 0; i < 900; ++i) {  // 29 MB: more than the kernel's buffers hold
      pair.leader.link->send_shared(chunk);
    }
    pair.leader.link->send(Waiting{"behind"});
    pair.leader.link->send(Heartbeat{});
    ASSERT_TRUE(until([&] { return pair.agent.messages.size() == 902; }));
    const auto beat = std::find_if(pair.agent.messages.begin(), pair.agent.messages.end(),
                                   [](const Message& message) { return std::holds_alternative<Heartbeat>(message); });
    EXPECT_LT(beat - pair.agent.messages.begin(), 890);
    EXPECT_TRUE(std::holds_alternative<Waiting>(pair.agent.messages.back()));
  }
}

TEST_F(LinkTest, WritesTheRestBeforeItCloses) {
  for (const GangKey* const link_key : {static_cast<const GangKey*>(nullptr), &key()}) {
    LinkPair pair(io_, link_key);
    pair.agent.link->send(join_of_link());
    ASSERT_TRUE(until([&] { return !pair.leader.messages.empty(); }));
    for (int i = 0; i < 1'000; ++i) {
      pair.leader.link->send(Waiting{std::string(2'000, 'x')});
    }
    pair.agent.link->send(Heartbeat{});  // unread when the leader closes
    pair.leader.link->close_when_sent();
    pair.leader.link.reset();
    ASSERT_TRUE(until([&] { return !pair.agent.lost.empty(); }));
    EXPECT_EQ(pair.agent.messages.size(), 1'000U);
    EXPECT_EQ(pair.agent.lost, (std::vector<std::string>{"closed the connection"}));
    EXPECT_EQ(pair.leader.messages.size(), 1U);
    EXPECT_TRUE(pair.leader.lost.empty());
  }
}

TEST_F(LinkTest, DeliversNothingAfterClose) {
  LinkPair pair(io_);
  pair.agent.link->send(join_of_link());
  pair.agent.link->send(Heartbeat{});
  pair.leader.link->close_when_sent();
  ASSERT_TRUE(until([&] { return !pair.agent.lost.empty(); }));
  EXPECT_TRUE(pair.leader.messages.empty());
  EXPECT_TRUE(pair.leader.lost.empty());
}

TEST_F(LinkTest, ReportsItsCloseAfterTheLastMessage) {
  Stranger stranger(io_);
  stranger.leader.link->start();

  stranger.leader.link->close_when_sent();
  run_ready(io_);
  EXPECT_FALSE(stranger.leader.is_closed);

  stranger.socket.close();
  EXPECT_TRUE(until([&] { return stranger.leader.is_closed; }));
}

TEST_F(LinkTest, LeavesNothingBehindWhenItIsReset) {
  Stranger stranger(io_);
  stranger.leader.link->start();

  stranger.leader.link->reset();

  boost::system::error_code error;
  std::array<char, 1> byte{};
  (void)stranger.socket.read_some(boost::asio::buffer(byte), error);
  EXPECT_EQ(error, boost::asio::error::connection_reset);
  run_ready(io_);
  EXPECT_EQ(stranger.leader.lost, std::vector<std::string>{});
}

TEST_F(LinkTest, ReportsWhetherThePeerSpeaksTheProtocol) {
  Stranger stranger(io_, &key());
  stranger.leader.link->start();

  stranger.write("\x16\x03\x01");

  EXPECT_TRUE(until([&] { return !stranger.leader.signs.empty(); }));
  EXPECT_EQ(stranger.leader.signs, std::vector<bool>{false});
}

TEST_F(LinkTest, MayBeDestroyedInItsCallbacks) {
  for (const GangKey* const link_key : {static_cast<const GangKey*>(nullptr), &key()}) {
    Sockets sockets = connected_pair(io_);
    LinkEnd agent(std::move(sockets.second), link_key, Side::Agent);
    LinkEnd leader(std::move(sockets.first), link_key, Side::Leader);
    leader.is_brief = true;
    agent.is_brief = true;
    leader.link->start();
    agent.link->start();
    agent.link->send(join_of_link());
    agent.link->send(Heartbeat{});
    ASSERT_TRUE(until([&] { return !agent.link; }));
    EXPECT_EQ(leader.messages.size(), 1U);
    run_ready(io_);
  }
}

TEST_F(LinkTest, CallsNothingAfterItWasDestroyed) {
  Stranger stranger(io_);
  stranger.leader.link->start();
  stranger.write(frame(encode(join_of_link())));
  stranger.leader.link.reset();
  run_ready(io_);
  EXPECT_TRUE(stranger.leader.messages.empty());
  EXPECT_TRUE(stranger.leader.lost.empty());
}

TEST_F(LinkTest, IsLostOnceOnly) {
  Stranger stranger(io_);
  stranger.leader.link->start();
  stranger.write("GET / HTTP/1.1\r\n\r\n");
  stranger.socket.close();
  ASSERT_TRUE(until([&] { return !stranger.leader.lost.empty(); }));
  stranger.leader.link->send(Heartbeat{});
  stranger.leader.link->close_when_sent();
  run_ready(io_);
  EXPECT_EQ(stranger.leader.lost.size(), 1U);
}

}  // namespace
}  // namespace muster::gang
