// Hosts with slots, as MPI, PBS and LSF write them.
#include "platforms/host_lists.hpp"

#include "base/text.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Reader = Result<SlotList> (*)(const Sourced<std::string>&);

/// "a:4 b", or the error.
std::string read_by(Reader reader, const std::string& text) {
  const auto list = reader({text, {SourceKind::File, "hosts"}});
  if (!list) {
    return list.error().message;
  }
  std::vector<std::string> words;
  for (const HostSlots& host : list->value) {
    words.push_back(host.host + (host.slots ? ":" + std::to_string(*host.slots) : ""));
  }
  return join(words, " ");
}

std::string hostfile(const std::string& text) {
  return read_by(read_hostfile, text);
}

TEST(Hostfile, HasTheFormsOfOpenMpiAndMpich) {
  EXPECT_EQ(hostfile("a slots=4 max_slots=8\nb\n\nc slots = 2\r\n"), "a:4 b c:2");
  EXPECT_EQ(hostfile("a username=me port=2222 slots=4\nb user-name = you\n"), "a:4 b");
  EXPECT_EQ(hostfile("a:8\nb:4\n"), "a:8 b:4");
  EXPECT_EQ(hostfile("a count=2\nb cpu=3 cpu-max=3\nc cpus=4\nd slot=1 max-slots=2"), "a:2 b:3 c:4 d:1");
  EXPECT_EQ(hostfile("10.0.0.1 slots=2\nfd00::1 slots=2"), "10.0.0.1:2 fd00::1:2");
  EXPECT_EQ(hostfile("me@a slots=2\n[::1]\n[fd00::1]:2\nyou@[fd00::2] slots=3"), "a:2 ::1 fd00::1:2 fd00::2:3");
}

TEST(Hostfile, HasComments) {
  EXPECT_EQ(hostfile("# all\na slots=4 # one\n// none\nb // c\n/* d\ne */ f /* g */ slots=2\n"), "a:4 b f:2");
  EXPECT_EQ(hostfile("a\n/* not closed"), "a");
}

TEST(Hostfile, CountsAHostThatIsListedAgain) {
  EXPECT_EQ(hostfile("a\nb\na\na"), "a:3 b:1");
  EXPECT_EQ(hostfile("a slots=2\na\nb"), "a:3 b") << "as mpirun counts";
  EXPECT_EQ(hostfile("a\na slots=2"),
            "line 2 of hosts is 'a slots=2', expected each host with a number of slots once, and "
            "'a' is listed before");
}

TEST(Hostfile, IsRefusedWithItsLine) {
  for (const std::string line : {"a slots=x", "a slots", "a b", "a:x", "a slots=2 slots=2", "a colour=2",
                                 "a slots=4 max_slots=2", "a port=x", "a username=", "a port=1 port=2", "a:4 slots=4",
                                 "@a", "[::1]x", "[::1]:", "me@a username=you", "a slots=", "a = 2"}) {
    EXPECT_EQ(hostfile("/* 1\n2 */\n" + line),
              "line 3 of hosts is '" + line + "', expected HOST, HOST slots=N max_slots=M or HOST:N");
  }
  EXPECT_EQ(hostfile("a slots=0"), "hosts is 'a slots=0', expected a host with a slot");
  EXPECT_EQ(hostfile("a:0\nb:2\nc slots=0"), "b:2");
  EXPECT_EQ(hostfile("a:2222"),
            "line 1 of hosts is 'a:2222', expected at most 1024 slots: 2222 is read as a number of slots; a port is "
            "port=2222");
  EXPECT_LT(hostfile(std::string(680'000, 'a') + ",b").size(), 600U) << "shortened";
  EXPECT_EQ(hostfile(" # none"), "hosts is ' # none', expected one host on each line");
  EXPECT_EQ(hostfile("a,b"),
            "line 1 of hosts is 'a,b', expected a host name or an address, without port and "
            "brackets");
}

TEST(NodeFile, HasALineForEachSlot) {
  EXPECT_EQ(read_by(read_node_file, "b\nb\na\nb\n"), "b:3 a:1");
  EXPECT_EQ(read_by(read_node_file, "b 8\na 4\nb 1"), "b:9 a:4");
  EXPECT_EQ(read_by(read_node_file, "a slots=4"),
            "line 1 of hosts is 'a slots=4', expected a host, or a host and its number of slots");
  EXPECT_EQ(read_by(read_node_file, "a 9999999\na 9999999"),
            "line 2 of hosts is 'a 9999999', expected at most 10000000 slots");
  EXPECT_EQ(read_by(read_node_file, ""), "hosts is '', expected one host on each line");
}

TEST(HostPairs, AreHostsWithTheirSlots) {
  EXPECT_EQ(read_by(read_host_pairs, "a 8 b 4 a 1"), "a:9 b:4");
  for (const std::string text : {"", "a", "a 8 b", "a b", "8 a"}) {
    EXPECT_EQ(read_by(read_host_pairs, text),
              "hosts is '" + text + "', expected hosts with their slots, such as 'a 8 b 8'");
  }
}

TEST(HostsWithSlots, AreInOneLine) {
  EXPECT_EQ(read_by(read_hosts_with_slots, "a:8,b:4"), "a:8 b:4");
  EXPECT_EQ(read_by(read_hosts_with_slots, "a, b c"), "a b c");
  EXPECT_EQ(read_by(read_hosts_with_slots, "a,a,b"), "a:2 b:1");
  for (const std::string text : {"", "a,,b", ":8", "a,"}) {
    EXPECT_EQ(read_by(read_hosts_with_slots, text), "hosts is '" + text + "', expected hosts such as a:8,b:8");
  }
  EXPECT_EQ(read_by(read_hosts_with_slots, "a:"), "hosts is 'a:', expected a number of slots after 'a:'");
  EXPECT_EQ(read_by(read_hosts_with_slots, "a:0"), "hosts is 'a:0', expected a number of slots after 'a:', not '0'");
  EXPECT_EQ(hosts_of(*read_hosts_with_slots({"b:2,a", {}})).value, (std::vector<std::string>{"b", "a"}));
}

TEST(HostList, IsSeparatedByCommasBlanksAndLineEnds) {
  const auto read = [](const std::string& text) {
    const auto list = read_host_list({text, from_variable("HOSTS")});
    return list ? join(list->value, " ") : list.error().message;
  };
  EXPECT_EQ(read("b,a,b"), "b a b");
  EXPECT_EQ(read("b a\nc, d\n"), "b a c d");
  for (const std::string text : {"", "a,,b", "a,", "a:1"}) {
    EXPECT_EQ(read(text), "HOSTS is '" + text + "', expected host names separated by commas");
  }
}

}  // namespace
}  // namespace muster
