// The work of a queue on which thousands wait: bytes that are moved are counted, because a time differs from machine to
// machine. The linker leads the calls here (--wrap).
#include "services/torch_store/waits.hpp"

#include <gtest/gtest.h>

namespace {

std::size_t g_moved = 0;

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
extern "C" {
void* __real_memmove(void* to, const void* from, std::size_t size);
void* __wrap_memmove(void* to, const void* from, std::size_t size) {
  g_moved += size;
  return __real_memmove(to, from, size);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace muster::store {
namespace {

constexpr ClientId kClients = 2'000;
constexpr std::size_t kBytesOfClient = 200;

class WaitsWork : public testing::Test {
 protected:
  WaitsWork() {
    for (ClientId client = 0; client < kClients; ++client) {
      EXPECT_TRUE(waits_.begin(client, {"queue"}));
    }
    g_moved = 0;
  }

  Budget budget_{1'000'000};
  Waits waits_{budget_};
};

TEST_F(WaitsWork, OfPushesDoesNotGrowWithThoseWhoWait) {
  for (ClientId client = 0; client < kClients; ++client) {
    EXPECT_EQ(waits_.on_pushed("queue"), client);
  }
  EXPECT_EQ(waits_.on_pushed("queue"), std::nullopt);
  EXPECT_EQ(budget_.spent(), 0U);
  EXPECT_LT(g_moved, kClients * kBytesOfClient);
}

TEST_F(WaitsWork, OfClientsThatGoDoesNotGrowWithThoseWhoWait) {
  for (ClientId client = 0; client < kClients; client += 2) {
    waits_.end(client);
  }
  EXPECT_LT(g_moved, kClients * kBytesOfClient);
  for (ClientId client = 1; client < kClients; client += 2) {
    EXPECT_EQ(waits_.missing(client, 1), std::vector<std::string>{"queue"});
    EXPECT_EQ(waits_.on_pushed("queue"), client) << "the longest wait first";
  }
  EXPECT_EQ(waits_.on_pushed("queue"), std::nullopt);
  EXPECT_EQ(budget_.spent(), 0U);
}

}  // namespace
}  // namespace muster::store
