// Keys in the report of a hang: those that most clients wait for, limited in number and length.
#include "services/torch_store/store.hpp"
#include "services/torch_store/waits.hpp"

#include <gtest/gtest.h>

namespace muster::store {
namespace {

std::string words(const AwaitedKeys& awaited) {
  std::string text;
  for (const AwaitedKey& one : awaited.keys) {
    text += one.key + " " + std::to_string(one.clients) + ":";
    for (const Process& process : one.processes) {
      text += " " + std::to_string(process.pid.value_or(0));
    }
    text += "\n";
  }
  return text + (awaited.are_all ? "" : "...");
}

TEST(AwaitedKeys, ComeByHowManyWaitForThem) {
  const std::vector<WaitingClient> waiting = {
      {1, {"a", 11}, {"/a", "/b"}, 2}, {2, {"a", 12}, {"/b"}, 1}, {3, {"a", {}}, {"/c"}, 1}};
  EXPECT_EQ(words(most_awaited(waiting)), "/b 2: 11 12\n/a 1: 11\n/c 1: 0\n");
  EXPECT_EQ(words(most_awaited({})), "");
}

TEST(AwaitedKeys, ReportThatAClientHasMoreKeysThanInspected) {
  EXPECT_EQ(words(most_awaited(std::vector<WaitingClient>{{1, {"a", 11}, {"/a"}, 2}})), "/a 1: 11\n...");
}

TEST(AwaitedKeys, AreFewAndShort) {
  std::vector<WaitingClient> waiting;
  for (std::size_t i = 0; i <= kMostAwaitedKeys; ++i) {
    waiting.push_back({i, {"a", 1}, {std::string(2 * kMostOfAwaitedKey, static_cast<char>('a' + i))}, 1});
  }
  const AwaitedKeys awaited = most_awaited(waiting);
  EXPECT_EQ(awaited.keys.size(), kMostAwaitedKeys);
  EXPECT_FALSE(awaited.are_all);
  EXPECT_EQ(awaited.keys[0].key, std::string(kMostOfAwaitedKey, 'a'));
}

TEST(AwaitedKeys, CountUnnamedClients) {
  const std::vector<WaitingClient> waiting(kMostAwaitingProcesses + 5, {1, {"a", 1}, {"/a"}, 1});
  const AwaitedKeys awaited = most_awaited(waiting);
  EXPECT_EQ(awaited.keys.at(0).clients, kMostAwaitingProcesses + 5);
  EXPECT_EQ(awaited.keys.at(0).processes.size(), kMostAwaitingProcesses);
}

}  // namespace
}  // namespace muster::store
