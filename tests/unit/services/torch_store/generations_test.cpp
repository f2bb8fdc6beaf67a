// Generations of keys when process groups are made and destroyed: the keys that a client sees, and arrived ranks.
#include "services/torch_store/played_store.hpp"

#include <optional>
#include <vector>

namespace muster::store {
namespace {

using namespace wire;

constexpr std::size_t kRanks = 4;

/// The ranks of a job: with the pids that torch from 2.5 on tells, or without.
struct Ranks {
  explicit Ranks(PlayedStore& its_store, bool has_pids = true) : played(its_store), pids(has_pids) {}

  ClientId init(std::uint32_t rank) { return played.arrive(pids ? std::optional(100 + rank) : std::nullopt); }
  std::vector<ClientId> init_all() {
    std::vector<ClientId> clients;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      clients.push_back(init(rank));
    }
    return clients;
  }
  void destroy(const std::vector<ClientId>& clients) {
    for (const ClientId client : clients) {
      played.leave(client);
    }
  }

  PlayedStore& played;
  bool pids;
};

/// Checks a key that every generation uses; true: it is not set in this one yet.
bool is_fresh(PlayedStore& played, ClientId client) {
  return played.say(client, check({"/k"})) == kNotReady;
}

class Reinit : public ::testing::TestWithParam<bool> {};

TEST_P(Reinit, FindsNewKeysEachTime) {
  PlayedStore played(kRanks);
  Ranks ranks(played, GetParam());
  for (int round = 0; round < 3; ++round) {
    const auto clients = ranks.init_all();
    EXPECT_TRUE(is_fresh(played, clients[0])) << round;
    EXPECT_EQ(played.say(clients[0], set("/k", "1")), "");
    for (const ClientId client : clients) {
      EXPECT_FALSE(is_fresh(played, client)) << round;
      EXPECT_EQ(played.say(client, add("init/", 0)), i64(kRanks)) << round;
    }
    ranks.destroy(clients);
    EXPECT_EQ(played.store.bytes(), 0U) << "nobody can ask for these keys any more";
  }
}

TEST_P(Reinit, DoesNotAffectLateRanks) {
  PlayedStore played(kRanks);
  Ranks ranks(played, GetParam());
  const auto first = ranks.init_all();
  EXPECT_EQ(played.say(first[0], set("/k", "1")), "");
  played.leave(first[0]);
  const ClientId again = ranks.init(0);
  EXPECT_TRUE(is_fresh(played, again));
  EXPECT_FALSE(is_fresh(played, first[1])) << "it has not destroyed its group yet";

  EXPECT_EQ(played.say(again, set("/k", "2")), "");
  played.leave(first[1]);
  EXPECT_EQ(played.say(ranks.init(1), get("/k")), text("2"));
  EXPECT_EQ(played.say(first[2], get("/k")), text("1"));
}

INSTANTIATE_TEST_SUITE_P(Pids, Reinit, ::testing::Bool());

TEST(Generations, LetAllRanksMeetHoweverTheyCome) {
  PlayedStore played(kRanks);
  const ClientId other = played.greet(7);
  EXPECT_EQ(played.say(other, set("/k", "1")), "") << "without having arrived";
  Ranks ranks(played);
  for (const ClientId client : ranks.init_all()) {
    EXPECT_EQ(played.say(client, get("/k")), text("1"));
  }
}

TEST(Generations, KeepAProcessWhereItsConnectionsAre) {
  PlayedStore played(kRanks);
  Ranks ranks(played);
  const auto first = ranks.init_all();
  EXPECT_EQ(played.say(first[0], set("/k", "1")), "");
  EXPECT_FALSE(is_fresh(played, played.greet(100))) << "a clone of its client";
}

TEST(Generations, TakeEqualPidsOfOneAddressForOneProcessThatStays) {
  PlayedStore played(kRanks);
  const ClientId first = played.arrive(1);
  EXPECT_EQ(played.say(first, set("/k", "1")), "");
  for (int rank = 1; rank < 4; ++rank) {
    EXPECT_FALSE(is_fresh(played, played.arrive(1))) << "pids of several pid namespaces";
  }
}

TEST(Generations, LeaveAStoreThatIsOpenStill) {
  PlayedStore played(kRanks);
  Ranks ranks(played);
  const auto first = ranks.init_all();
  EXPECT_EQ(played.say(first[0], set("/k", "1")), "");
  const auto second = ranks.init_all();
  for (const ClientId client : second) {
    EXPECT_TRUE(is_fresh(played, client)) << "something keeps the store of a group that is gone";
  }
  EXPECT_EQ(played.say(second[0], set("/k", "2")), "");
  EXPECT_EQ(played.say(played.greet(100), get("/k")), text("2"));
  EXPECT_EQ(played.say(first[1], get("/k")), text("1"));
}

TEST(Generations, KeepAClientThatUsesTheStoreBeforeItArrives) {
  PlayedStore played(kRanks);
  const ClientId look = played.greet(100);
  EXPECT_EQ(played.say(look, set("/k", "1")), "");
  Ranks ranks(played);
  for (const ClientId client : ranks.init_all()) {
    EXPECT_FALSE(is_fresh(played, client));
  }
}

TEST(Generations, DoNotMoveAFirstArrival) {
  PlayedStore played(kRanks);
  Ranks ranks(played);
  const ClientId look = played.greet(100);
  EXPECT_EQ(played.say(look, set("/k", "1")), "");
  played.leave(look);
  for (const ClientId client : ranks.init_all()) {
    EXPECT_FALSE(is_fresh(played, client));
  }
}

TEST(Generations, BringALateRankToTheOthers) {
  PlayedStore played(kRanks);
  Ranks ranks(played);
  const ClientId first = ranks.init(0);
  EXPECT_EQ(played.say(first, set("/k", "1")), "");
  const ClientId second = ranks.init(1);
  played.leave(second);
  EXPECT_TRUE(is_fresh(played, ranks.init(1))) << "it comes again";
  EXPECT_FALSE(is_fresh(played, ranks.init(2))) << "it comes for the first time";
}

TEST(Generations, BeginAnewForOtherProcessesWhenAllHaveCome) {
  PlayedStore played(kRanks);
  Ranks ranks(played);
  const auto first = ranks.init_all();
  EXPECT_EQ(played.say(first[0], set("/k", "1")), "");
  EXPECT_TRUE(is_fresh(played, played.arrive(999))) << "processes that the ranks have started";
  EXPECT_FALSE(is_fresh(played, played.greet(100)));
}

TEST(Generations, KeepKeysForRanksThatHaveNotArrived) {
  PlayedStore played(kRanks);
  Ranks ranks(played);
  const ClientId first = ranks.init(0);
  EXPECT_EQ(played.say(first, set("/k", "1")), "");
  played.leave(first);
  EXPECT_FALSE(is_fresh(played, ranks.init(1))) << "rank 0 may end first";
}

TEST(Generations, KeepKeysOfClientsThatAreNoRanks) {
  PlayedStore played(kRanks);
  const ClientId first = played.greet(7);
  EXPECT_EQ(played.say(first, set("/k", "1")), "");
  played.leave(first);
  EXPECT_FALSE(is_fresh(played, played.greet(8)));
}

TEST(Generations, DropAnAbandonedGenerationWhenALaterOneBegins) {
  PlayedStore played(kRanks);
  Ranks ranks(played);
  const ClientId first = ranks.init(0);
  EXPECT_EQ(played.say(first, set("/k", std::string(1'000, 'x'))), "");
  played.leave(first);
  EXPECT_GT(played.store.bytes(), 1'000U);
  (void)ranks.init(0);
  EXPECT_LT(played.store.bytes(), 1'000U);
}

TEST(Generations, DropAnEarlierOneWithItsLastConnectionThoughRanksLack) {
  PlayedStore played(kRanks);
  Ranks ranks(played);
  const ClientId first = ranks.init(0);
  EXPECT_EQ(played.say(first, set("/k", std::string(1'000, 'x'))), "");
  played.leave(ranks.init(1));
  EXPECT_TRUE(is_fresh(played, ranks.init(1)));
  played.leave(first);
  EXPECT_LT(played.store.bytes(), 1'000U);
}

TEST(Generations, KeepAnEarlierClientThoughAllHaveArrived) {
  PlayedStore played(1);
  const ClientId look = played.greet(7);
  EXPECT_EQ(played.say(look, set("/k", "1")), "");
  (void)played.arrive(8);
  EXPECT_FALSE(is_fresh(played, played.arrive(7)));
}

TEST(Generations, TakeEqualPidsOfTwoAddressesForTwoProcesses) {
  PlayedStore played(2);
  const ClientId one = played.arrive(1, "10.0.0.1");
  const ClientId two = played.arrive(1, "10.0.0.2");
  EXPECT_EQ(played.store.joined_ranks().ranks.size(), 2U);
  EXPECT_EQ(played.say(one, set("/k", "1")), "");
  played.leave(two);
  EXPECT_TRUE(is_fresh(played, played.arrive(1, "10.0.0.2")));
  EXPECT_FALSE(is_fresh(played, one));
}

TEST(Generations, CountNoConnectionThatSaysNothing) {
  PlayedStore played(1);
  const ClientId silent = played.connect();
  const ClientId client = played.connect();
  EXPECT_EQ(played.say(client, u8(3) + text("init/") + i64(1)), i64(1));
  played.leave(silent);
  played.leave(client);
  EXPECT_EQ(played.store.bytes(), 0U);
}

TEST(Generations, ListTheArrivedRanks) {
  PlayedStore played(kRanks);
  EXPECT_TRUE(played.store.joined_ranks().ranks.empty());
  const ClientId look = played.greet(5);
  EXPECT_EQ(played.say(look, set("/k", "1")), "");
  const ClientId first = played.arrive(11, "10.0.0.1");
  (void)played.arrive(12, "10.0.0.2");
  (void)played.arrive(11, "10.0.0.1");
  (void)played.arrive(std::nullopt, "10.0.0.3");
  (void)played.arrive(std::nullopt, "10.0.0.3");

  const std::vector<Process> ranks = {{"10.0.0.1", 11}, {"10.0.0.2", 12}, {"10.0.0.3"}, {"10.0.0.3"}};
  EXPECT_EQ(played.store.joined_ranks().ranks, ranks);
  EXPECT_EQ(played.store.joined_ranks().generation, 0U);
  played.leave(first);
  EXPECT_EQ(played.store.joined_ranks().ranks, ranks) << "who has been there has come";
}

TEST(Generations, DescribeTheLatest) {
  PlayedStore played(1);
  const ClientId first = played.arrive(11);
  (void)played.arrive(12);
  EXPECT_EQ(played.store.joined_ranks().generation, 1U);
  EXPECT_EQ(played.store.joined_ranks().ranks, (std::vector<Process>{{"10.0.0.1", 12}}));
  played.leave(first);
  EXPECT_EQ(played.store.joined_ranks().generation, 1U);
}

}  // namespace
}  // namespace muster::store
