// The users who listen where NCCL is asked.
#include "agent/hang/nccl_client.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace muster {
namespace {

constexpr const char* kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:6D7C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 81 1 0 100 0 0 10 0\n"
    "   1: 00000000:6D7D 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 82 1 0 100 0 0 10 0\n"
    "   2: 0100007F:6D7C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 83 1 0 100 0 0 10 0\n"
    "   3: 0200000A:6D7E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 84 1 0 100 0 0 10 0\n"
    "   4: 0100007F:6D7F 0100007F:A000 01 00000000:00000000 00:00000000 00000000  1003        0 85 1 0 100 0 0 10 0\n";

std::set<uid_t> listeners(const std::string& table, std::uint16_t port) {
  std::istringstream lines(table);
  return users_listening_at(lines, port);
}

TEST(ListenersAt, AreThoseOfThePort) {
  EXPECT_EQ(listeners(kTable, 0x6D7C), (std::set<uid_t>{1000, 1001}));
  EXPECT_EQ(listeners(kTable, 0x6D7D), std::set<uid_t>{0});
}

TEST(ListenersAt, AreNoOthers) {
  EXPECT_EQ(listeners(kTable, 0x6D7E), std::set<uid_t>{}) << "another address";
  EXPECT_EQ(listeners(kTable, 0x6D7F), std::set<uid_t>{}) << "a connection";
  for (const char* const table :
       {"", "\n", "names\n0:", "names\n0: x y 0A a b c d e\n", "names\n0: : : 0A a b c 7\n"}) {
    EXPECT_EQ(listeners(table, 0x6D7C), std::set<uid_t>{}) << table;
  }
}

}  // namespace
}  // namespace muster
