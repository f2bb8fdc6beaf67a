// What clients may not do, what they are told, and that it does nothing to the others.
#include "store/played_store.hpp"

#include <vector>

namespace muster::store {
namespace {

using namespace wire;

TEST(StoreLimits, NameWhoIsRefusedAndWhy) {
  struct Case {
    std::string bytes;
    std::string why;
  };
  const std::vector<Case> cases = {
      {u8(77), "it sent the operation '77', expected one of torch's TCPStore, 1.13 to 2.14"},
      {kGreeting, "it sent the greeting a second time, expected it once"},
      {u8(3) + u64(9'000), "it sent a key of '9000' bytes, expected at most 8192"},
      {set("/x", "abc") + add("/x", 1),
       "it counts with the key '/x', which has 'abc', expected a number"},
      {barrier("/text", 1),
       "it counts with the key '/text', which has 't\\x1b', expected a number"},
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

TEST(StoreLimits, LetWhoIsRefusedHaveWhatItWasAnswered) {
  PlayedStore played;
  const ClientId client = played.greet();
  EXPECT_FALSE(played.store.on_bytes(client, get("/a") + u8(77)));
  EXPECT_EQ(played.heard(client), text(""));
}

TEST(StoreLimits, CountConnections) {
  Limits limits;
  limits.connections_per_worker = 2;
  PlayedStore played(1, limits);
  const ClientId first = played.connect();
  for (int i = 0; i < 3; ++i) {
    (void)played.connect();
  }
  const auto fifth = played.store.on_opened(99, "10.0.0.9");
  ASSERT_FALSE(fifth);
  EXPECT_EQ(fifth.error().message,
            "closed the store's connection to 10.0.0.9: there are '4' already, expected at most 4");
  EXPECT_EQ(played.store.connections(), 4U);
  played.leave(99);
  played.leave(first);
  EXPECT_TRUE(played.store.on_opened(99, "10.0.0.9"));
}

Limits with_data(std::size_t bytes) {
  Limits limits;
  limits.data = bytes;
  return limits;
}

TEST(StoreLimits, BoundWhatIsKeptInAllGenerations) {
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

TEST(StoreLimits, BoundWhatIsWaitedFor) {
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
  const std::string begun = set("/a", std::string(600, 'x')).substr(0, 600);
  const ClientId first = played.greet();
  EXPECT_EQ(played.say(first, begun), "");
  const ClientId second = played.greet();
  EXPECT_NE(played.refusal(second, begun).find("bytes of requests that are not whole"),
            std::string::npos);
  played.leave(second);
  EXPECT_EQ(played.say(first, set("/a", std::string(600, 'x')).substr(600)), "");
  EXPECT_EQ(played.say(played.greet(), begun), "") << "what has become whole counts no more";
}

Limits with_unread(std::size_t bytes) {
  Limits limits;
  limits.unread = bytes;
  return limits;
}

TEST(StoreLimits, BoundWhatAClientLeavesUnread) {
  const std::vector<std::string> questions = {get("/a"),
                                              multi_get({"/a", "/a"}),
                                              list_keys(),
                                              count_keys(),
                                              ping(1),
                                              wait({"/a"}),
                                              pop("/q"),
                                              cancel_wait(),
                                              add("/n", 0)};
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
    EXPECT_NE(refusal.find("' bytes that it has not read, expected at most 1000"),
              std::string::npos);
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

TEST(StoreLimits, CountOnlyWhatIsNotWritten) {
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

  for (played.store.on_written(client); (piece = played.store.next_answer());
       played.store.on_written(client)) {
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

TEST(StoreLimits, HandNothingOutToWhoIsGone) {
  PlayedStore played;
  const ClientId client = played.greet();
  ASSERT_TRUE(played.store.on_bytes(client, get("/a")));
  played.leave(client);
  EXPECT_FALSE(played.store.next_answer());
  played.store.on_written(client);
}

}  // namespace
}  // namespace muster::store
