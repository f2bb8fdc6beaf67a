// Limits of the store: clients over one are refused with a reason, and the others go on.
#include "services/torch_store/played_store.hpp"

#include <algorithm>
#include <vector>

namespace muster::store {
namespace {

using namespace wire;

TEST(StoreLimits, NameRefusedClientsAndTheReason) {
  struct Case {
    std::string bytes;
    std::string why;
  };
  const std::vector<Case> cases = {
      {u8(77), "it sent the operation '77', expected one of torch's TCPStore, 1.13 to 2.14"},
      {kGreeting, "it sent the greeting a second time, expected it once"},
      {u8(3) + u64(9'000), "it sent a key of '9000' bytes, expected at most 8192"},
      {set("/x", "abc") + add("/x", 1), "it counts with the key '/x', which has 'abc', expected a number"},
      {barrier("/text", 1), "it counts with the key '/text', which has 't\\x1b', expected a number"},
  };
  for (const Case& one : cases) {
    PlayedStore played;
    const ClientId other = played.greet();
    EXPECT_EQ(played.say(other, set("/text", "t\x1b")), "");
    const ClientId client = played.greet(4711, "10.0.0.7");
    const std::string message = "closed the store's connection to 10.0.0.7, pid 4711: " + one.why;
    EXPECT_EQ(played.refusal(client, one.bytes), message);
    EXPECT_EQ(played.refusal(client, get("/a")), message) << "nothing more is read";
    EXPECT_EQ(played.say(other, get("/text")), text("t\x1b"));
  }
}

TEST(StoreLimits, DeliverPendingAnswersToARefusedClient) {
  PlayedStore played;
  const ClientId client = played.greet();
  EXPECT_FALSE(played.store.on_bytes(client, get("/a") + u8(77)));
  EXPECT_EQ(played.heard(client), text(""));
}

Limits with_connections(std::size_t per_worker) {
  Limits limits;
  limits.connections_per_worker = per_worker;
  return limits;
}

TEST(StoreLimits, CloseTheNewestWhereNoProcessExceedsItsShare) {
  PlayedStore played(1, with_connections(2));
  for (std::uint32_t pid = 1; pid <= 4; ++pid) {
    (void)played.greet(pid);
  }
  EXPECT_FALSE(played.store.clients_to_close());
  const ClientId fifth = played.connect("10.0.0.9");
  std::string why;
  EXPECT_EQ(played.close_who_gives_way(&why), std::vector{fifth});
  EXPECT_EQ(why, "closed the store's connection to 10.0.0.9: there are '4' already, expected at most 4");
  EXPECT_EQ(played.store.connections(), 4U);
}

TEST(StoreLimits, CloseConnectionsOfTheLargestProcess) {
  PlayedStore played(1, with_connections(2));
  const ClientId rank = played.arrive(1);
  const std::vector<ClientId> greedy{played.greet(7), played.greet(7), played.greet(7)};
  EXPECT_FALSE(played.store.clients_to_close()) << "nobody else needs one";
  EXPECT_EQ(played.store.most_connected_client()->clients.size(), 1U);
  const ClientId newest = played.connect("10.0.0.9");
  std::string why;
  EXPECT_EQ(played.close_who_gives_way(&why), std::vector{greedy[1]});
  EXPECT_EQ(why,
            "closed the store's connection to 10.0.0.1, pid 7: of all processes it has the most, '3', "
            "expected at most 2 while others need one");
  EXPECT_FALSE(played.store.most_connected_client());
  EXPECT_EQ(played.say(rank, get("/a")), text(""));
  EXPECT_EQ(played.say(newest, kGreeting + get("/a")), text(""));
}

Limits with_data(std::size_t bytes) {
  Limits limits;
  limits.data = bytes;
  return limits;
}

TEST(StoreLimits, LimitTheBytesOfAllGenerations) {
  PlayedStore played(1, with_data(2'000));
  const ClientId first = played.arrive(1);
  EXPECT_EQ(played.say(first, set("/a", std::string(900, 'x'))), "");
  const ClientId second = played.arrive(2);
  EXPECT_EQ(played.refusal(second, set("/a", std::string(900, 'x'))).substr(0, 69),
            "closed the store's connection to 10.0.0.1, pid 2: the store is full: ");
  EXPECT_LE(played.store.bytes(), 2'000U);
  played.leave(first);
  played.leave(second);
  EXPECT_EQ(played.store.bytes(), 0U);
}

TEST(StoreLimits, LimitTheAwaitedKeys) {
  PlayedStore played(1, with_data(2'000));
  const ClientId client = played.greet(1);
  const ClientId other = played.greet(2);
  EXPECT_EQ(played.say(other, wait({"/other"})), "");
  const std::size_t bytes = played.store.bytes();
  EXPECT_EQ(played.refusal(client, wait({"/a", std::string(1'800, 'x')})),
            "closed the store's connection to 10.0.0.1, pid 1: the store is full: it waits "
            "for '2' keys, for "
            "which there is no room");
  EXPECT_EQ(played.store.waiting(9).size(), 1U);
  EXPECT_EQ(played.store.bytes(), bytes);
  EXPECT_EQ(played.say(other, set("/other", "1")), kReady);
}

TEST(StoreLimits, BoundTheUnfinishedRequestsOfAll) {
  Limits limits;
  limits.unfinished = 1'000;
  PlayedStore played(1, limits);
  const std::string whole = set("/a", std::string(600, 'x'));
  const ClientId first = played.greet();
  EXPECT_EQ(played.say(first, whole.substr(0, 400)), "");
  const ClientId second = played.greet(7);
  EXPECT_EQ(played.say(second, whole.substr(0, 450)), "");
  EXPECT_FALSE(played.store.clients_to_close());
  const ClientId third = played.greet();
  EXPECT_EQ(played.say(third, whole.substr(0, 100)), "");
  std::string why;
  EXPECT_EQ(played.close_who_gives_way(&why), std::vector{second}) << "it has sent most";
  EXPECT_TRUE(why.starts_with("closed the store's connection to 10.0.0.1, pid 7: of '1")) << why;
  EXPECT_TRUE(
      why.ends_with("' bytes of unfinished requests it has sent the most, expected at most 1000 of all "
                    "clients"))
      << why;
  EXPECT_EQ(played.say(first, whole.substr(400)) + played.say(third, whole.substr(100)), "");
  EXPECT_EQ(played.say(played.greet(), whole.substr(0, 600)), "");
  EXPECT_FALSE(played.store.clients_to_close()) << "what has become whole counts no more";
}

Limits with_unread(std::size_t bytes) {
  Limits limits;
  limits.unread = bytes;
  return limits;
}

TEST(StoreLimits, BoundWhatAClientLeavesUnread) {
  const std::vector<std::string> questions = {
      get("/a"), multi_get({"/a", "/a"}), list_keys(), count_keys(), ping(1), wait({"/a"}),
      pop("/q"), cancel_wait(),           add("/n", 0)};
  for (const std::string& question : questions) {
    PlayedStore played(1, with_unread(1'000));
    const ClientId client = played.greet();
    EXPECT_EQ(played.say(client, set("/a", std::string(100, 'x'))), "");
    std::string refusal;
    for (int i = 0; i < 1'001 && refusal.empty(); ++i) {
      const auto taken = played.store.on_bytes(client, question);
      refusal = taken ? "" : taken.error().message;
      (void)played.store.next_answer();  // which is never written
    }
    EXPECT_NE(refusal.find("' bytes that it has not read, expected at most 1000"), std::string::npos);
  }
}

TEST(StoreLimits, BoundWhatAClientThatIsWokenLeavesUnread) {
  PlayedStore played(1, with_unread(1'000));
  const ClientId client = played.greet();
  const ClientId other = played.greet();
  bool is_open = true;
  for (int i = 0; i < 1'001 && is_open; ++i) {
    is_open = played.store.on_bytes(client, wait({"/a"})).has_value();
    ASSERT_TRUE(played.store.on_bytes(other, set("/a", "") + delete_key("/a")));
    while (const auto answer = played.store.next_answer()) {
      if (answer->client == other) {
        played.store.on_written(other);
      }
    }
  }
  EXPECT_FALSE(is_open);
}

/// Three ask for the same large value, and one for many small ones; nobody reads.
TEST(StoreLimits, BoundWhatAllLeaveUnreadInMemory) {
  Limits limits;
  limits.unread_of_all = 100'000;
  PlayedStore played(1, limits);
  const ClientId setter = played.greet();
  const std::string large(20'000, 'x');
  EXPECT_EQ(played.say(setter, set("/large", large) + set("/small", std::string(100, 'x'))), "");
  const std::vector<ClientId> readers{played.greet(), played.greet(), played.greet()};
  const ClientId greedy = played.greet(7);
  for (const ClientId reader : readers) {
    ASSERT_TRUE(played.store.on_bytes(reader, get("/large")));
  }
  EXPECT_EQ(played.store.unread(), 3 * 8 + large.size()) << "it is there once";
  while (!played.store.clients_to_close()) {
    ASSERT_TRUE(played.store.on_bytes(greedy, get("/small")));
  }
  std::string why;
  EXPECT_EQ(played.close_who_gives_way(&why), std::vector{greedy});
  EXPECT_EQ(why,
            "closed the store's connection to 10.0.0.1, pid 7: of '100052' bytes of unread answers it has the most, "
            "expected at most 100000 of all clients");
  EXPECT_EQ(played.store.unread(), 3 * 8 + large.size());
}

TEST(StoreLimits, CountAnswersUntilTheyAreWritten) {
  PlayedStore played;
  const ClientId client = played.greet();
  EXPECT_EQ(played.say(client, set("/large", std::string(70'000, 'x'))), "");
  ASSERT_TRUE(played.store.on_bytes(client, get("/large") + get("/large")));
  EXPECT_EQ(played.store.unread(), 2 * 8 + 70'000);
  const auto piece = played.store.next_answer();
  ASSERT_TRUE(piece);
  EXPECT_EQ(played.store.unread(), 8 + 70'000 + piece->bytes.size());
  while (played.store.next_answer()) {
    played.store.on_written(client);
  }
  played.store.on_written(client);
  (void)played.heard(client);
  EXPECT_EQ(played.store.unread(), 0U);

  ASSERT_TRUE(played.store.on_bytes(client, get("/large")));
  (void)played.store.next_answer();
  played.leave(client);
  EXPECT_EQ(played.store.unread(), 0U);
}

TEST(StoreLimits, ShortenPiecesWhereThousandsDoNotRead) {
  constexpr std::size_t kClients = 2'000;
  PlayedStore played(kClients);
  const ClientId setter = played.greet();
  EXPECT_EQ(played.say(setter, set("/large", std::string(100'000, 'x'))), "");
  std::vector<ClientId> clients(kClients);
  std::generate(clients.begin(), clients.end(), [&] { return played.greet(); });
  for (const ClientId client : clients) {
    ASSERT_TRUE(played.store.on_bytes(client, get("/large")));
  }
  std::size_t handed_out = 0;
  while (const auto piece = played.store.next_answer()) {
    handed_out += piece->bytes.size();
  }
  EXPECT_GT(handed_out, std::size_t{64} << 20U);
  EXPECT_LT(handed_out, std::size_t{72} << 20U);
  EXPECT_LT(played.store.unread(), std::size_t{73} << 20U);
}

TEST(StoreLimits, CountOnlyUnwrittenBytes) {
  PlayedStore played(1, with_unread(1'000));
  const ClientId client = played.greet();
  EXPECT_EQ(played.say(client, set("/a", std::string(900, 'x'))), "");
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(played.say(client, get("/a")), text(std::string(900, 'x')));
  }
}

TEST(StoreLimits, HandOutOnePieceOfAClientAtATime) {
  const std::string large = std::string(100'000, 'x') + std::string(100'000, 'y');
  PlayedStore played;
  const ClientId client = played.greet();
  const ClientId other = played.greet();
  EXPECT_EQ(played.say(client, set("/a", large)), "");
  ASSERT_TRUE(played.store.on_bytes(client, get("/a") + get("/b")));
  std::string heard;
  auto piece = played.store.next_answer();
  ASSERT_TRUE(piece);
  heard += piece->bytes;
  EXPECT_LE(piece->bytes.size(), std::size_t{64} << 10U);
  EXPECT_FALSE(played.store.next_answer()) << "the first is not written yet";
  EXPECT_EQ(played.say(other, set("/a", "changed") + get("/b")), text("")) << "others are";

  for (played.store.on_written(client); (piece = played.store.next_answer()); played.store.on_written(client)) {
    heard += piece->bytes;
  }

  EXPECT_TRUE(heard == text(large) + text("")) << "as it was when it was asked for";
}

TEST(StoreLimits, LetClientsTakeTurns) {
  const std::string large(100'000, 'x');
  PlayedStore played;
  const ClientId one = played.greet();
  const ClientId two = played.greet();
  EXPECT_EQ(played.say(one, set("/a", large)), "");
  ASSERT_TRUE(played.store.on_bytes(one, get("/a")));
  ASSERT_TRUE(played.store.on_bytes(two, get("/a")));
  std::vector<ClientId> order;
  while (const auto piece = played.store.next_answer()) {
    order.push_back(piece->client);
    played.store.on_written(piece->client);
  }
  EXPECT_EQ(order, (std::vector<ClientId>{one, two, one, two}));
}

TEST(StoreLimits, SendNothingToAClosedClient) {
  PlayedStore played;
  const ClientId client = played.greet();
  ASSERT_TRUE(played.store.on_bytes(client, get("/a")));
  played.leave(client);
  EXPECT_FALSE(played.store.next_answer());
  played.store.on_written(client);
}

}  // namespace
}  // namespace muster::store
