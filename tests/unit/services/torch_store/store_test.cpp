// Requests of clients and their answers: each operation in each dialect, waits, queues and barriers.
#include "services/torch_store/played_store.hpp"

#include <algorithm>
#include <vector>

namespace muster::store {
namespace {

using namespace wire;

TEST(Store, AnswersEachOperation) {
  struct Step {
    std::string asked;
    std::string heard;
  };
  const std::vector<Step> steps = {
      {get("/a"), text("")},
      {set("/a", "1"), ""},
      {get("/a"), text("1")},
      {set("/a", ""), ""},
      {get("/a"), text("")},
      {compare_set("/c", "x", "y"), text("x")},
      {compare_set("/c", "", "y"), text("y")},
      {compare_set("/c", "x", "z"), text("y")},
      {compare_set("/c", "y", "z"), text("z")},
      {add("/n", 5), i64(5)},
      {add("/n", -7), i64(-2)},
      {add("/n", 0), i64(-2)},
      {get("/n"), text("-2")},
      {check({"/a", "/n"}), kReady},
      {check({"/a", "/x"}), kNotReady},
      {check({}), kReady},
      {wait({"/a", "/a", "/n"}), kReady},
      {wait({}), kReady},
      {count_keys(), i64(3)},
      {delete_key("/a"), i64(1)},
      {delete_key("/a"), i64(0)},
      {append("/t", "ab"), ""},
      {append("/t", "c"), ""},
      {get("/t"), text("abc")},
      {multi_set({"/x", "1", "/y", "2"}), ""},
      {multi_get({"/y", "/none", "/x"}), text("2") + text("") + text("1")},
      {multi_get({}), ""},
      {cancel_wait(), kCancelled},
      {queue_length("/q"), i64(0)},
      {pop("/q"), i64(0)},
      {push("/q", "one"), ""},
      {push("/q", "two"), ""},
      {queue_length("/q"), i64(2)},
      {check({"/q"}), kReady},
      {wait({"/q", "/n"}), kReady},
      {count_keys(), i64(5)},
      {delete_key("/q"), i64(0)},
      {pop("/q"), i64(2) + text("one")},
      {pop("/q"), i64(1) + text("two")},
      {check({"/q"}), kNotReady},
      {barrier("/b", 1), kReady},
      {get("/b"), text("1")},
      {ping(7), u32(7)},
  };
  PlayedStore played;
  const ClientId client = played.greet();
  std::string asked;
  std::string heard;
  for (const Step& step : steps) {
    EXPECT_EQ(played.say(client, step.asked), step.heard);
    asked += step.asked;
    heard += step.heard;
  }

  for (std::size_t piece = 1; piece <= asked.size(); piece += piece) {
    PlayedStore other;
    const ClientId in_pieces = other.greet();
    std::string all;
    for (std::size_t i = 0; i < asked.size(); i += piece) {
      all += other.say(in_pieces, std::string_view(asked).substr(i, piece));
    }
    EXPECT_EQ(all, heard) << piece;
  }
}

TEST(Store, AnswersClientsThatDoNotGreet) {
  PlayedStore played;
  const ClientId client = played.connect();
  EXPECT_EQ(played.say(client, u8(3) + text("init/") + i64(1)), i64(1));
  EXPECT_EQ(played.say(client, u8(0) + text("/a") + text("1")), "");
  EXPECT_EQ(played.say(client, u8(2) + text("/a")), text("1"));
  EXPECT_EQ(played.say(client, u8(1) + text("/a") + text("1") + text("2")), text("2"));
  EXPECT_EQ(played.say(client, u8(4) + texts({"/a", "/b"})), kNotReady);
  EXPECT_EQ(played.say(client, u8(5) + texts({"/a"})), kReady);
  EXPECT_EQ(played.say(client, u8(6)), i64(2));
}

TEST(Store, AnswersTorch20) {
  PlayedStore played;
  EXPECT_EQ(played.say(played.connect(), u8(11)), kCancelled) << "a stray byte settles nothing";
  const ClientId client = played.connect();
  EXPECT_EQ(played.say(client, u8(3) + text("init/") + i64(1)), i64(1));
  EXPECT_EQ(played.say(client, u8(0) + text("/a") + text("1") + u8(8) + text("/a")), "");
  EXPECT_TRUE(played.store.awaits_silence(client));
  EXPECT_EQ(played.silence(client), i64(1));
  EXPECT_FALSE(played.store.awaits_silence(client));
  EXPECT_EQ(played.say(client, u8(8) + text("/a")), i64(0));

  const ClientId second = played.connect();
  EXPECT_FALSE(played.store.awaits_silence(second));
  EXPECT_EQ(played.refusal(second, u8(7) + text("/a")),
            "closed the store's connection to 10.0.0.1: it watches the key '/a', expected "
            "what clients of "
            "torch 2.1 and later do as well");
}

TEST(Store, LearnsHowAJobSpeaksFromItsRanks) {
  PlayedStore played;
  const ClientId rank = played.connect();
  EXPECT_EQ(played.say(rank, u8(3) + text("init/") + i64(1)), i64(1));
  EXPECT_EQ(played.say(rank, u8(8) + text("/a") + text("1")), "");
  EXPECT_EQ(played.say(played.connect(), u8(7) + text("/a")), i64(1)) << "it may begin so";
}

TEST(Store, AnswersTorch21) {
  PlayedStore played;
  const ClientId client = played.connect();
  const std::string first = u8(8) + text("/a");
  EXPECT_EQ(played.say(client, first), "");
  EXPECT_EQ(played.say(client, text("12")), "");
  EXPECT_EQ(played.say(client, u8(2) + text("/a")), text("12"));
  EXPECT_EQ(played.say(client, u8(7) + text("/a")), i64(1));
  EXPECT_EQ(played.say(client, u8(10) + u64(1) + text("/b") + text("2")), "");
  EXPECT_EQ(played.say(client, u8(9) + texts({"/b", "/c"})), text("2") + text(""));
  EXPECT_EQ(played.say(client, u8(5) + texts({"/c"})), "");
  EXPECT_EQ(played.say(client, u8(11)), kCancelled);
}

TEST(Store, CountsAndListsItsKeysAndThatOfTheRanksToo) {
  PlayedStore played;
  const ClientId client = played.arrive(1);
  EXPECT_EQ(played.say(client, count_keys()), i64(1));
  EXPECT_EQ(played.say(client, push("/q", "x") + list_keys()), i64(1) + text("init/"));
  const std::string both = played.say(client, set("/a", "") + list_keys());
  EXPECT_TRUE(both == i64(2) + text("init/") + text("/a") || both == i64(2) + text("/a") + text("init/"));
}

TEST(Store, AnswersPingBeforeAnythingElseIsKnown) {
  PlayedStore played;
  const ClientId client = played.connect();
  EXPECT_EQ(played.say(client, kGreeting + ping(0xfffffffe)), u32(0xfffffffe));
}

/// Requests that change a key; each of them wakes the clients that wait for it.
const std::vector<std::string> kChanges = {
    set("/k", "1"), compare_set("/k", "", "1"), add("/k", 1), append("/k", "1"), multi_set({"/x", "", "/k", "1"}),
};

TEST(Store, WakesWaitingClientsAtEachChange) {
  for (const std::string& change : kChanges) {
    PlayedStore played;
    const ClientId one = played.greet();
    const ClientId two = played.greet();
    const ClientId other = played.greet();
    EXPECT_EQ(played.say(one, wait({"/k"})), "");
    EXPECT_EQ(played.say(two, wait({"/k", "/k", "/later"})), "");

    played.say(other, change);
    EXPECT_EQ(played.heard(one), kReady);
    EXPECT_EQ(played.heard(two), "");

    played.say(other, set("/later", ""));
    EXPECT_EQ(played.heard(two), kReady);
    played.say(other, set("/k", "2") + set("/later", "2"));
    EXPECT_EQ(played.heard(one) + played.heard(two), "") << "nobody waits any more";
  }
}

TEST(Store, WakesNoClientWhenNothingIsSet) {
  PlayedStore played;
  const ClientId client = played.greet();
  const ClientId other = played.greet();
  EXPECT_EQ(played.say(client, wait({"/k"})), "");
  EXPECT_EQ(played.say(other, compare_set("/k", "x", "1")), text("x"));
  EXPECT_EQ(played.heard(client), "");
}

TEST(Store, WakesAClientWhileOthersWait) {
  PlayedStore played;
  const ClientId client = played.greet();
  EXPECT_EQ(played.say(client, wait({"/k"}) + set("/k", "1")), kReady) << "even by itself";
}

TEST(Store, LetsAKeyThatCameCountThoughItIsDeleted) {
  PlayedStore played;
  const ClientId client = played.greet();
  const ClientId other = played.greet();
  EXPECT_EQ(played.say(client, wait({"/a", "/b"})), "");
  EXPECT_EQ(played.say(other, set("/a", "1") + delete_key("/a")), i64(1));
  EXPECT_EQ(played.say(other, set("/b", "1")), "");
  EXPECT_EQ(played.heard(client), kReady);
}

TEST(Store, ForgetsTheWaitThatAnotherOneReplaces) {
  PlayedStore played;
  const ClientId client = played.greet();
  const ClientId other = played.greet();
  EXPECT_EQ(played.say(client, wait({"/a"}) + wait({"/b"})), "");
  EXPECT_EQ(played.say(other, set("/a", "1")), "");
  EXPECT_EQ(played.heard(client), "");
  EXPECT_EQ(played.say(other, set("/b", "1")), "");
  EXPECT_EQ(played.heard(client), kReady);
  EXPECT_EQ(played.say(client, wait({"/c"}) + wait({"/b"})), kReady);
  EXPECT_EQ(played.say(other, set("/c", "1")), "");
  EXPECT_EQ(played.heard(client), "");
}

TEST(Store, SendsNoLateZeroAfterACancelledWait) {
  PlayedStore played;
  const ClientId client = played.greet();
  const ClientId other = played.greet();
  EXPECT_EQ(played.say(client, wait({"/a"})), "");
  EXPECT_EQ(played.say(client, cancel_wait()), kCancelled);
  EXPECT_EQ(played.say(other, set("/a", "1")), "");
  EXPECT_EQ(played.heard(client), "");

  EXPECT_EQ(played.say(client, wait({"/b"})), "");
  ASSERT_TRUE(played.store.on_bytes(other, set("/b", "1")));
  ASSERT_TRUE(played.store.on_bytes(client, cancel_wait()));
  EXPECT_EQ(played.heard(client), kReady + kCancelled) << "it was on the way already";
}

TEST(Store, WakesTheLongestWaitingWithAPush) {
  PlayedStore played;
  const ClientId other = played.greet();
  const ClientId second = played.greet();
  const ClientId first = played.greet();
  EXPECT_EQ(played.say(first, wait({"/q"})), "");
  EXPECT_EQ(played.say(second, wait({"/q"})), "");

  EXPECT_EQ(played.say(other, push("/q", "1")), "");
  EXPECT_EQ(played.heard(first), kReady);
  EXPECT_EQ(played.heard(second), "");
  EXPECT_EQ(played.say(first, pop("/q")), i64(1) + text("1"));

  EXPECT_EQ(played.say(first, wait({"/q"})), "");
  EXPECT_EQ(played.say(other, push("/q", "2")), "");
  EXPECT_EQ(played.heard(second), kReady) << "it has waited longer now";
  EXPECT_EQ(played.say(other, set("/q", "")), "");
  EXPECT_EQ(played.heard(first), kReady) << "a value of that name counts as well";
}

TEST(Store, DefersABarrierUntilAllHaveArrived) {
  PlayedStore played;
  const ClientId one = played.greet();
  const ClientId two = played.greet();
  const ClientId three = played.greet();
  const ClientId waiting = played.greet();
  EXPECT_EQ(played.say(waiting, wait({"/b"})), "");
  EXPECT_EQ(played.say(one, barrier("/b", 3)), "");
  EXPECT_EQ(played.say(two, barrier("/b", 3)), "");
  EXPECT_EQ(played.heard(one) + played.heard(waiting), "");
  EXPECT_EQ(played.say(three, barrier("/b", 3)), kReady);
  EXPECT_EQ(played.heard(one) + played.heard(two) + played.heard(waiting), kReady + kReady + kReady);
  EXPECT_EQ(played.say(one, get("/b")), text("3"));
  EXPECT_EQ(played.say(one, barrier("/b", 3)), kReady) << "the count is never reset";
}

TEST(Store, CountsACancelledBarrierAndWakesItNoMore) {
  PlayedStore played;
  const ClientId one = played.greet();
  const ClientId two = played.greet();
  EXPECT_EQ(played.say(one, barrier("/b", 2)), "");
  EXPECT_EQ(played.say(one, cancel_wait()), kCancelled);
  EXPECT_EQ(played.say(two, barrier("/b", 2)), kReady);
  EXPECT_EQ(played.heard(one), "");
}

TEST(Store, WakesABarrierWhenItsKeyIsSet) {
  PlayedStore played;
  const ClientId one = played.greet();
  const ClientId two = played.greet();
  EXPECT_EQ(played.say(one, barrier("/b", 2)), "");
  EXPECT_EQ(played.say(two, set("/b", "0")), "");
  EXPECT_EQ(played.heard(one), kReady);
}

TEST(Store, SetsAllPairsOrNone) {
  PlayedStore played;
  const ClientId client = played.greet();
  const ClientId other = played.greet();
  const std::string request = multi_set({"/a", "1", "/b", "2"});
  EXPECT_EQ(played.say(client, std::string_view(request).substr(0, request.size() - 1)), "");
  EXPECT_EQ(played.say(other, count_keys()), i64(0));
  played.leave(client);
  EXPECT_EQ(played.say(other, check({"/a"})), kNotReady);
}

TEST(Store, ForgetsWhatAClientWaitsForWhenItGoes) {
  PlayedStore played;
  const ClientId client = played.greet();
  const ClientId other = played.greet();
  EXPECT_EQ(played.say(client, set("/a", "1") + wait({"/b", "/q"})), "");
  const std::size_t bytes = played.store.bytes();
  played.leave(client);
  EXPECT_LT(played.store.bytes(), bytes);
  EXPECT_TRUE(played.store.waiting(9).empty());
  EXPECT_EQ(played.say(other, get("/a")), text("1")) << "its keys stay";
  EXPECT_EQ(played.say(other, push("/q", "1") + set("/b", "1") + queue_length("/q")), i64(1));
  played.leave(client);
}

TEST(Store, ListsWaitingClientsWithTheirKeys) {
  PlayedStore played;
  const ClientId one = played.greet(11, "10.0.0.1");
  const ClientId two = played.greet(std::nullopt, "10.0.0.2");
  const ClientId three = played.greet(13);
  EXPECT_EQ(played.say(three, set("/b", "")), "");
  EXPECT_EQ(played.say(one, wait({"/a", "/b", "/c", "/d", "/a"})), "");
  EXPECT_EQ(played.say(two, wait({"/c"})), "");
  EXPECT_EQ(played.say(three, set("/c", "")), "");

  const auto waiting = played.store.waiting(1);

  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].client, one);
  EXPECT_EQ(waiting[0].process, (Process{"10.0.0.1", 11}));
  EXPECT_EQ(waiting[0].keys, std::vector<std::string>{"/a"});
  EXPECT_EQ(waiting[0].missing, 2U);
  EXPECT_EQ(played.store.waiting(9).at(0).keys, (std::vector<std::string>{"/a", "/d"}));
}

TEST(Store, WakesThousandsInTheTurnsOfItsCaller) {
  constexpr std::size_t kClients = 8'192;
  PlayedStore played(kClients);
  std::vector<ClientId> clients(kClients);
  for (ClientId& client : clients) {
    client = played.greet();
    ASSERT_TRUE(played.store.on_bytes(client, wait({"/k"})));
  }
  ASSERT_TRUE(played.store.on_bytes(played.greet(), set("/k", "1")));

  std::vector<ClientId> woken;
  while (const auto answer = played.store.next_answer()) {
    woken.push_back(answer->client);
    EXPECT_EQ(answer->bytes, kReady);
    played.store.on_written(answer->client);
  }
  EXPECT_EQ(woken, clients) << "who has waited longest comes first";
}

}  // namespace
}  // namespace muster::store
