// Every rule of HCCL has a table that breaks it in one place.
#include "rank_table/read.hpp"
#include "rank_table/tables.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::rank_table {
namespace {

/// Two servers with two devices each, which are right.
const std::string kServers =
    R"({"status":"completed","version":"1.0","server_count":"2","server_list":[
{"server_id":"10.0.0.1","host_ip":"10.0.0.1","device":[
{"device_id":"0","device_ip":"192.1.0.1","rank_id":"0","device_port":"16666"},
{"device_id":"1","device_ip":"192.1.0.2","rank_id":"1"}]},
{"server_id":"10.0.0.2","host_ip":"10.0.0.2","device":[
{"device_id":"0","device_ip":"192.1.0.3","rank_id":"2"},
{"device_id":"1","device_ip":"192.1.0.4","rank_id":"3"}]}]})";

const std::string kGroups = R"({"status":"completed","group_count":"1","group_list":[
{"group_name":"job","device_count":"2","instance_count":"2","instance_list":[
{"pod_name":"job-0","server_id":"10.0.0.1","devices":[{"device_id":"0","device_ip":"192.1.0.1"}]},
{"pod_name":"job-1","server_id":"10.0.0.2","devices":[{"device_id":"0","device_ip":"192.1.0.2"}]}]}]})";

const std::string kStandard =
    R"({"status":"completed","chip_info":"910","group_count":"1","group_list":[
{"device_num":"2","server_num":"1","instance_count":"2","instance_list":[
{"rank_id":"0","server_id":"10.0.0.1","devices":[{"device_id":"0","device_ip":"192.1.0.1"}]},
{"rank_id":"1","server_id":"10.0.0.1","devices":[{"device_id":"1","device_ip":"192.1.0.2"}]}]}]})";

const std::string kSuperPods =
    R"({"status":"completed","version":"1.2","server_count":"2","server_list":[
{"server_id":"a","device":[{"device_id":"0","rank_id":"0","super_device_id":"4294967295"}]},
{"server_id":"b","device":[{"device_id":"0","rank_id":"1","super_device_id":"1"}]}],
"super_pod_list":[{"super_pod_id":"7","server_list":[{"server_id":"a"},{"server_id":"b"}]}]})";

const std::string kRanks = R"({"status":"completed","version":"2.0","rank_count":2,"rank_list":[
{"rank_id":0,"local_id":0,"device_id":0,"level_list":[{"net_layer":0},{"net_layer":1}]},
{"rank_id":1,"local_id":1,"device_id":1,"level_list":[{"net_layer":0}]}]})";

/// Replaces a part of the table, which must occur, and returns all violations, one on a line.
std::string broken(std::string text, const std::string& part, const std::string& other) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) {
    return "there is no " + part;
  }
  text.replace(at, part.size(), other);
  std::string lines;
  for (const Breach& breach : check(text)) {
    lines += (lines.empty() ? "" : "\n") + describe(breach);
  }
  return lines;
}

TEST(Check, FindsNothingInGoodTables) {
  for (const std::string& text : {kServers, kGroups, kStandard, kSuperPods, kRanks}) {
    EXPECT_EQ(broken(text, "status", "status"), "") << text;
    EXPECT_TRUE(inspect(text, "t").notices.empty()) << text;
  }
}

TEST(Check, ReportsInvalidJson) {
  EXPECT_EQ(broken(kServers, "\"0\",", "\"0\";"),
            "line 3 is no JSON (syntax error), expected a JSON object (CANN: EI0004)");
}

TEST(Check, ComparesCountsWithLists) {
  EXPECT_EQ(broken(kServers, R"("server_count":"2")", R"("server_count":"3")"),
            R"(server_count is "3", expected 2, as many as are listed (CANN: EI0004))");
  EXPECT_EQ(broken(kGroups, R"("group_count":"1")", R"("group_count":"2")"),
            R"(group_count is "2", expected 1, as many as are listed (CANN: EI0004))");
  EXPECT_EQ(broken(kGroups, R"("instance_count":"2")", R"("instance_count":"x")"),
            R"(group_list[0].instance_count is "x", expected 2, as many as are listed (CANN: EI0004))");
  EXPECT_EQ(broken(kGroups, R"("device_count":"2")", R"("device_count":4)"),
            "group_list[0].device_count is 4, expected 2, as many as are listed (CANN: EI0004)");
  EXPECT_EQ(broken(kStandard, R"("server_num":"1")", R"("server_num":"2")"),
            R"(group_list[0].server_num is "2", expected 1, as many as are listed (CANN: EI0004))");
  EXPECT_EQ(broken(kRanks, R"("rank_count":2)", R"("rank_count":1)"),
            "rank_count is 1, expected 2, as many as are listed (CANN: EI0004)");
}

TEST(Check, WantsServersAndDevices) {
  EXPECT_EQ(broken(R"({"status":"completed","version":"1.0","server_count":"0","server_list":[]})", "1.0", "1.0"),
            "server_list is an empty list, expected at least one entry (CANN: EI0004)");
  EXPECT_EQ(broken(R"({"status":"completed","version":"1.0","server_list":[{"server_id":"a",
                   "device":[]}]})",
                   "1.0", "1.0"),
            "server_list[0].device is an empty list, expected at least one device (CANN: EI0004)");
  EXPECT_EQ(broken(kServers, R"("version":"1.0")", R"("version":"3.0")"),
            R"(version is "3.0", expected "1.0" or "1.2" (CANN: EI0004))");
}

TEST(Check, WantsOneOfTheLists) {
  EXPECT_EQ(broken(kGroups, R"("group_count")", R"("version":"1.0","server_list":[],"group_count")"),
            "group_list is a list, expected no such list beside server_list (CANN: EI0004)");
}

TEST(Check, WantsSuperPodsInVersion12) {
  EXPECT_EQ(broken(kServers, R"("version":"1.0")", R"("version":"1.2")"),
            "super_pod_list is missing, expected the servers of each super pod (CANN: EI0014)");
}

TEST(Check, WantsADeviceInSomeGroup) {
  EXPECT_EQ(broken(R"({"status":"completed","group_list":[{"device_count":"0","instance_list":[]}]})", "0", "0"),
            "group_list is a list, expected at least one device (CANN: EI0004)");
}

TEST(Check, WantsEachServerOnce) {
  EXPECT_EQ(broken(kServers, R"("server_id":"10.0.0.2")", R"("server_id":"")"),
            "server_list[1].server_id is \"\", expected the server's address or name, "
            "1 to 63 letters (CANN: EI0004)");
  EXPECT_NE(broken(kServers, R"("server_id":"10.0.0.2")", R"("server_id":")" + std::string(64, 's') + "\""), "");
  EXPECT_EQ(broken(kServers, R"("server_id":"10.0.0.2","host_ip")", R"("server_id":"10.0.0.1","host_ip")"),
            "server_list[1].server_id is \"10.0.0.1\", expected a server that is listed once, "
            "with all its devices (CANN: EI0004)\n"
            "server_list[1].device[0].device_id is \"0\", expected a device that nobody else has "
            "on this server; server_list[0].device[0] has it (CANN: no code, a line in its log)\n"
            "server_list[1].device[1].device_id is \"1\", expected a device that nobody else has "
            "on this server; server_list[0].device[1] has it (CANN: no code, a line in its log)");
}

TEST(Check, WantsAddressesOfAllHostsOrOfNone) {
  EXPECT_EQ(broken(kServers, R"("host_ip":"10.0.0.2",)", ""),
            "server_list[1].host_ip is missing, expected an address, as other servers have one "
            "(CANN: no code, a line in its log)");
  EXPECT_EQ(broken(kServers, R"("host_ip":"10.0.0.2")", R"("host_ip":"node-2")"),
            "server_list[1].host_ip is \"node-2\", expected an address of version 4 or 6 "
            "(CANN: EI0004)");
}

TEST(Check, WantsRanksFromZeroWithoutAGap) {
  EXPECT_EQ(broken(kServers, R"("rank_id":"3")", R"("rank_id":"4")"),
            "server_list[1].device[1].rank_id is \"4\", expected a rank below 4, the number of devices, and each rank "
            "from 0 once (CANN: EI0004)");
  EXPECT_EQ(broken(kServers, R"("rank_id":"3")", R"("rank_id":"0")"),
            "server_list[1].device[1].rank_id is \"0\", expected a rank that no other device has; "
            "server_list[0].device[0] has it (CANN: EI0004)");
  EXPECT_EQ(broken(kServers, R"("rank_id":"3")", R"("rank_id":"-1")"),
            "server_list[1].device[1].rank_id is \"-1\", expected a number from 0 (CANN: EI0004)");
  EXPECT_EQ(broken(kStandard, R"("rank_id":"1",)", ""),
            "group_list[0].instance_list[1].rank_id is missing, expected a number from 0 "
            "(CANN: EI0004)");
  EXPECT_EQ(broken(kRanks, R"("rank_id":1)", R"("rank_id":0)"),
            "rank_list[1].rank_id is 0, expected a rank that no other device has; rank_list[0] "
            "has it (CANN: EI0004)");
}

TEST(Check, DistinguishesFormsWithGroupsByMostOfTheirDevices) {
  EXPECT_EQ(broken(kStandard, R"("rank_id":"0",)", ""),
            "group_list[0].instance_list[0].rank_id is missing, expected a number from 0 "
            "(CANN: EI0004)");
  EXPECT_EQ(broken(kGroups, R"("device_ip":"192.1.0.1")", R"("device_ip":"192.1.0.1","rank_id":"0")"),
            "group_list[0].instance_list[0].devices[0].rank_id is \"0\", expected no rank, as most "
            "devices have none and ranks go by pod_name");
}

TEST(Check, WantsDevicesThatExist) {
  EXPECT_EQ(
      broken(kServers, R"("device_id":"1","device_ip":"192.1.0.4")", R"("device_id":"16","device_ip":"192.1.0.4")"),
      "server_list[1].device[1].device_id is \"16\", expected a device from 0 to 15 "
      "(CANN: no code, a line in its log)");
  EXPECT_EQ(broken(kStandard, R"("device_id":"1")", R"("device_id":"8")"),
            "group_list[0].instance_list[1].devices[0].device_id is \"8\", expected a device from "
            "0 to 7 (CANN: no code, a line in its log)");
  EXPECT_EQ(broken(kGroups, R"("server_id":"10.0.0.2")", R"("server_id":"10.0.0.1")"),
            "group_list[0].instance_list[1].devices[0].device_id is \"0\", expected a device that "
            "nobody else has on this server; group_list[0].instance_list[0].devices[0] has it "
            "(CANN: no code, a line in its log)");
  EXPECT_EQ(broken(kStandard,
                   R"(,"server_num":"1","instance_count":"2","instance_list":[
)",
                   R"(,"instance_list":[{"rank_id":"2","server_id":"10.0.0.1","devices":[
{"device_id":"2","device_ip":"192.1.0.3"}]},)"),
            "group_list[0].device_num is \"2\", expected 3, as many as are listed (CANN: EI0004)\n"
            "group_list[0].instance_list is 3, expected 1, 2, 4, 8 or 16 devices for each server "
            "(CANN: EI0004)");
}

TEST(Check, WantsAddressesOfDevices) {
  EXPECT_EQ(broken(kServers, "192.1.0.4", "192.1.0.400"),
            "server_list[1].device[1].device_ip is \"192.1.0.400\", expected an address of version "
            "4 or 6 (CANN: EI0004)");
  EXPECT_EQ(broken(kServers, "192.1.0.4", "192.1.0.1"),
            "server_list[1].device[1].device_ip is \"192.1.0.1\", expected an address that nobody "
            "else has; server_list[0].device[0] has it (CANN: EI0004)");
  EXPECT_EQ(broken(kGroups, "192.1.0.2", ""),
            "group_list[0].instance_list[1].devices[0].device_ip is \"\", expected an address, as "
            "the table has several servers (CANN: EI0014)");
  EXPECT_EQ(broken(kServers, "192.1.0.4", "192.1.0.4,192.1.0.5"),
            "server_list[1].device[1].device_ip is \"192.1.0.4,192.1.0.5\", expected as many "
            "addresses as the first device has, 1 (CANN: no code, a line in its log)");
}

TEST(Check, NeedsNoAddressesWithinOneServerOrSuperPod) {
  EXPECT_EQ(broken(kStandard, R"(,"device_ip":"192.1.0.2")", ""),
            "group_list[0].instance_list[1].devices[0].device_ip is missing, expected as many "
            "addresses as the first device has, 1 (CANN: no code, a line in its log)");
  std::string without = kStandard;
  without.replace(without.find(R"(,"device_ip":"192.1.0.2")"), 24, "");
  EXPECT_EQ(broken(without, R"(,"device_ip":"192.1.0.1")", ""), "");
  const std::string two_pods = R"({"server_id":"a"}]},{"super_pod_id":"8","server_list":[)";
  EXPECT_EQ(broken(kSuperPods, R"({"server_id":"a"},)", two_pods),
            "server_list[0].device[0].device_ip is missing, expected an address, as the table has "
            "several servers (CANN: EI0014)\n"
            "server_list[1].device[0].device_ip is missing, expected an address, as the table has "
            "several servers (CANN: EI0014)");
  Rules rules;
  rules.needs_addresses = true;
  ASSERT_EQ(check(kSuperPods, rules).size(), 2U);
  EXPECT_EQ(check(kSuperPods, rules)[0].expected, "an address, as HCCL_INTRA_ROCE_ENABLE is 1");
}

TEST(Check, WantsPortsThatCanBeOpened) {
  EXPECT_EQ(broken(kServers, R"("device_port":"16666")", R"("device_port":"0")"),
            "server_list[0].device[0].device_port is \"0\", expected a port from 1 to 65535 "
            "(CANN: no code, a line in its log)");
  EXPECT_NE(broken(kServers, R"("device_port":"16666")", R"("host_port":"65536")"), "");
  EXPECT_EQ(broken(kServers, R"("rank_id":"1")",
                   R"("rank_id":"1","backup_device_ip":"192.1.0.1","backup_device_port":"16666")"),
            "server_list[0].device[1].backup_device_port is \"16666\", expected another port than "
            "device_port of server_list[0].device[0], whose address it shares "
            "(CANN: no code, a line in its log)");
  EXPECT_EQ(broken(kServers, R"("rank_id":"1")", R"("rank_id":"1","backup_device_ip":"192.1.0.2")"),
            "server_list[0].device[1].backup_device_ip is \"192.1.0.2\", expected an address of "
            "another device than its own (CANN: no code, a line in its log)");
}

TEST(Check, WantsSuperPodsOfAllServers) {
  EXPECT_EQ(broken(kSuperPods, R"("super_pod_id":"7")", R"("super_pod_id":"")"),
            R"(super_pod_list[0].super_pod_id is "", expected a name (CANN: EI0014))");
  EXPECT_EQ(broken(kSuperPods, R"({"super_pod_id")", R"({"super_pod_id":"7","server_list":[]},{"super_pod_id")"),
            "server_list[0].device[0].device_ip is missing, expected an address, as the table has "
            "several servers (CANN: EI0014)\n"
            "server_list[1].device[0].device_ip is missing, expected an address, as the table has "
            "several servers (CANN: EI0014)\n"
            "super_pod_list[1].super_pod_id is \"7\", expected a name that no other super pod has "
            "(CANN: EI0014)");
  EXPECT_EQ(broken(kSuperPods, R"({"server_id":"b"}])", R"({"server_id":"c"}])"),
            "super_pod_list[0].server_list[1].server_id is \"c\", expected a server that "
            "server_list has (CANN: EI0014)\n"
            "server_list[1].server_id is \"b\", expected a server that super_pod_list has, too "
            "(CANN: EI0014)");
  EXPECT_EQ(broken(kSuperPods, R"({"server_id":"b"}])", R"({"server_id":"a"},{"server_id":"b"}])"),
            "super_pod_list[0].server_list[1].server_id is \"a\", expected a server of no other "
            "super pod (CANN: EI0014)");
}

TEST(Check, WantsNumbersOfDevicesInSuperPods) {
  EXPECT_EQ(broken(kSuperPods, R"(,"super_device_id":"1")", ""),
            "server_list[1].device[0].super_device_id is missing, expected the device's number in "
            "its super pod (CANN: EI0014)");
  EXPECT_EQ(broken(kSuperPods, R"("super_device_id":"1")", R"("super_device_id":4294967295)"),
            "server_list[1].device[0].super_device_id is 4294967295, expected a number that no "
            "other device of the super pod has (CANN: EI0014)");
}

TEST(Check, WantsPodsThatCanBeCounted) {
  EXPECT_EQ(broken(kGroups, "job-1", "job-0"),
            "group_list[0].instance_list[1].pod_name is \"job-0\", expected a name that ends with "
            "- and a number that no other pod of the group has");
  EXPECT_NE(broken(kGroups, "job-1", "job-x"), "");
  EXPECT_EQ(broken(kGroups, "job-1", "job-1-xk5d7"),
            "group_list[0].instance_list[1].pod_name is \"job-1-xk5d7\", expected a name that ends "
            "with - and a number that no other pod of the group has");
}

TEST(Check, WantsLayersOfTheNetworkOnce) {
  EXPECT_EQ(broken(kRanks, R"({"net_layer":1})", R"({"net_layer":0})"),
            "rank_list[0].level_list[1].net_layer is 0, expected a layer from 0 to 3, each once "
            "(CANN: EI0004)");
  EXPECT_NE(broken(kRanks, R"({"net_layer":1})", R"({"net_layer":4})"), "");
}

TEST(Check, StopsAtTheLimit) {
  Rules rules;
  rules.most = 1;
  std::string text = kServers;
  text.replace(text.find("192.1.0.4"), 9, "x");
  text.replace(text.find("192.1.0.3"), 9, "y");
  EXPECT_EQ(check(text, rules).size(), 1U);
  EXPECT_EQ(check(text).size(), 2U);
}

TEST(Notices, NamesValuesRewrittenForWorkers) {
  std::string text = kServers;
  text.replace(text.find(R"("rank_id":"3")"), 13, R"("rank_id":3)");
  text.replace(text.find(R"("server_count":"2",)"), 19, "");
  EXPECT_EQ(broken(text, "status", "status"), "");
  const std::vector<Breach> notices = inspect(text, "t").notices;
  ASSERT_EQ(notices.size(), 2U);
  EXPECT_EQ(describe(notices[0]), "server_count is missing, expected the number of servers in the list (CANN: EI0004)");
  EXPECT_EQ(describe(notices[1]), "server_list[1].device[1].rank_id is 3, expected this value as text (CANN: EI0004)");
}

/// All of them, one on a line.
std::string remarks_of(std::string text, const std::string& part, const std::string& other) {
  text.replace(text.find(part), part.size(), other);
  std::string lines;
  for (const Breach& notice : inspect(text, "t").notices) {
    lines += describe(notice) + "\n";
  }
  return lines;
}

TEST(Notices, NamesTheVersionOfAnotherForm) {
  EXPECT_EQ(remarks_of(kSuperPods, R"("1.2")", R"("1.0")"),
            "version is \"1.0\", expected \"1.2\", as there is a super_pod_list (CANN: EI0004)\n");
}

TEST(Notices, NamesAServerWithBlanks) {
  const std::string expected =
      ", expected a name without blanks and control characters, as it is compared letter by "
      "letter\n";
  EXPECT_EQ(remarks_of(kSuperPods, R"("server_id":"a")", R"("server_id":"a ")"),
            R"(server_list[0].server_id is "a ")" + expected);
  EXPECT_EQ(remarks_of(kGroups, R"("server_id":"10.0.0.2")", R"("server_id":"10.0.0.2\u001b")"),
            R"(group_list[0].instance_list[1].server_id is "10.0.0.2\u001b")" + expected);
}

/// Its devices have no limit that is known.
TEST(Notices, HasNoneOnLargeNumbersInTheRankList) {
  EXPECT_EQ(broken(kRanks, R"("device_id":1)", R"("device_id":63)"), "");
  EXPECT_EQ(remarks_of(kRanks, R"("device_id":1)", R"("device_id":63)"), "");
}

TEST(Notices, NamesAKeyThatIsWrittenTwice) {
  EXPECT_EQ(remarks_of(kServers, "{", R"({"a\":\"":[{"b":":"}],"server_list":[],)"),
            "server_list is written twice in one object, expected it once; the last one counts\n");
  EXPECT_EQ(remarks_of(kServers, "{", R"({"a\":\"":[{"b":":"}],)"), "");
}

TEST(Notices, NamesASuperPodThatIsANumber) {
  EXPECT_EQ(remarks_of(kSuperPods, R"("super_pod_id":"7")", R"("super_pod_id":7)"),
            "super_pod_list[0].super_pod_id is 7, expected this value as text (CANN: EI0004)\n");
}

TEST(Notices, NamesIrregularRankLists) {
  EXPECT_EQ(remarks_of(kRanks, R"("status":"completed",)", ""),
            "status is missing, expected \"completed\" (CANN: EI0004)\n");
  EXPECT_EQ(remarks_of(kRanks, R"("rank_count":2)", R"("rank_count":"2")"),
            "rank_count is \"2\", expected this value as a number (CANN: EI0004)\n");
  EXPECT_EQ(remarks_of(kRanks, R"(,"level_list":[{"net_layer":0}])", ""),
            "rank_list[1].level_list is missing, expected the layers of its network\n");
  const std::string layer = R"([{"net_layer":0,"net_instance_id":"a"}])";
  EXPECT_EQ(remarks_of(R"({"status":"completed","version":"2.0","rank_count":2,"rank_list":[
{"rank_id":0,"device_id":1,"level_list":)" +
                           layer + R"(},{"rank_id":1,"device_id":1,"level_list":)" + layer + "}]}",
                       "status", "status"),
            "rank_list[1].device_id is 1, expected a device that no other rank of the same "
            "net_instance_id has\n");
}

TEST(Notices, NamesSuperPodsOfDifferentSizes) {
  std::string text = kSuperPods;
  text.replace(text.find(R"({"super_pod_id")"), 15, R"({"super_pod_id":"1","server_list":[]},{"super_pod_id")");
  const std::vector<Breach> notices = inspect(text, "t").notices;
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].path, "super_pod_list");
}

}  // namespace
}  // namespace muster::rank_table
