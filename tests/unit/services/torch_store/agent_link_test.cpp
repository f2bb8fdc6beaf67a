// The store's process tells the agent what it reads, when it reads it, and waits for nobody.
#include "services/torch_store/store_process.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

namespace muster {
namespace {

constexpr std::uint64_t kNumber = 7;
constexpr std::chrono::milliseconds kAtOnce{0};
constexpr std::size_t kFew = 8;

class AgentLinkTest : public testing::Test {
 protected:
  AgentLinkTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ours_ = UniqueFd(ends[0]);
    agents_ = UniqueFd(ends[1]);
  }

  /// Events of the poller for kNumber, under which the link is registered.
  std::uint32_t happened() {
    const auto ready = poller_.ready(kAtOnce, kFew);
    EXPECT_LE(ready.size(), 1U);
    EXPECT_TRUE(ready.empty() || ready[0].data.u64 == kNumber);
    return ready.empty() ? 0 : ready[0].events;
  }
  std::string read_all() {
    std::string all;
    std::array<char, 4'096> bytes{};
    ssize_t size = 0;
    while ((size = ::recv(agents_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
      all.append(bytes.data(), static_cast<std::size_t>(size));
    }
    return all;
  }

  Poller poller_;
  UniqueFd ours_;
  UniqueFd agents_;
};

TEST_F(AgentLinkTest, KeepsMessagesForAnAgentThatDoesNotRead) {
  AgentLink link(poller_, ours_.get(), kNumber);
  std::string told;
  for (int i = 0; i < 2'000; ++i) {
    const StoreNotice notice{std::to_string(i) + std::string(1'000, 'x')};
    link.send(notice);
    told += write_message(notice);
  }
  std::string heard = read_all();
  EXPECT_LT(heard.size(), told.size()) << "there is more than a socket holds";
  while ((happened() & EPOLLOUT) != 0) {
    EXPECT_EQ(link.on_ready(EPOLLOUT), "");
    heard += read_all();
  }
  EXPECT_TRUE(heard == told);
  EXPECT_EQ(happened(), 0U) << "it waits for nothing when all is told";
}

TEST_F(AgentLinkTest, ReadsRequestsAndNoticesTheAgentsEnd) {
  AgentLink link(poller_, ours_.get(), kNumber);
  EXPECT_EQ(happened(), 0U);
  EXPECT_EQ(::send(agents_.get(), "?w", 2, 0), 2);
  EXPECT_EQ(link.on_ready(happened()), "?w");
  EXPECT_FALSE(link.is_over());
  EXPECT_EQ(happened(), 0U);
  agents_.reset();
  EXPECT_EQ(link.on_ready(happened()), "");
  EXPECT_TRUE(link.is_over());
}

TEST_F(AgentLinkTest, SaysOnlyTheFirstRemarks) {
  AgentLink link(poller_, ours_.get(), kNumber);
  for (int i = 0; i < 100; ++i) {
    link.warn("a");
  }
  std::string expected;
  for (int i = 0; i < 15; ++i) {
    expected += write_message(StoreNotice{"a"});
  }
  EXPECT_EQ(read_all(), expected + write_message(StoreNotice{"a (the last message of this kind)"}));
}

}  // namespace
}  // namespace muster
