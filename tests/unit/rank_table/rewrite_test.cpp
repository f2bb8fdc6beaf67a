// Tables as HCCL reads them.
#include "rank_table/rewrite.hpp"

#include "rank_table/read.hpp"

#include <gtest/gtest.h>

namespace muster::rank_table {
namespace {

std::string rewritten(std::string_view text, const Changes& changes = {}) {
  Reading reading = read(text, "hccl.json");
  if (const auto* error = std::get_if<Error>(&reading)) {
    return error->message;
  }
  return rewrite(std::string(text), std::get<Table>(reading), changes);
}

TEST(Rewrite, MakesServersOfGroups) {
  const std::string text = R"({"status": "completed", "group_count": "2", "cause": {"x": 1},
      "group_list": [
      {"group_name": "a", "device_count": "2", "instance_count": "2", "instance_list": [
        {"pod_name": "a-1", "server_id": "10.0.0.1", "devices": [{"device_id": "1"}]},
        {"pod_name": "a-0", "server_id": "10.0.0.1", "host": "h", "devices": [
          {"device_id": 0, "device_ip": "192.1.0.1", "mac": [1]}]}]},
      {"group_name": "b", "device_count": "1", "instance_count": "1", "instance_list": [
        {"pod_name": "b-0", "server_id": "10.0.0.2", "devices": [{"device_id": "0"}]}]}]})";

  EXPECT_EQ(rewritten(text, {{}, {{"10.0.0.2", "172.16.0.2"}}}), R"({
  "status": "completed",
  "version": "1.0",
  "server_count": "2",
  "server_list": [
    {
      "server_id": "10.0.0.1",
      "device": [
        {"device_id":"0","device_ip":"192.1.0.1","mac":[1],"rank_id":"0"},
        {"device_id":"1","rank_id":"1"}
      ],
      "host": "h"
    },
    {
      "server_id": "10.0.0.2",
      "device": [
        {"device_id":"0","rank_id":"2"}
      ],
      "pod_ip": "172.16.0.2"
    }
  ],
  "cause": {"x":1}
}
)");
}

TEST(Rewrite, GivesOtherRanks) {
  const std::string text = R"({"status": "completed", "version": "1.0", "server_count": 1,
      "server_list": [{"server_id": "a", "device":
        [{"device_id": "0", "rank_id": 0}, {"device_id": "1", "rank_id": 1}]}]})";

  EXPECT_EQ(rewritten(text, {{1, 0}, {}}), R"({
  "status": "completed",
  "version": "1.0",
  "server_count": "1",
  "server_list": [
    {
      "server_id": "a",
      "device": [
        {"device_id":"0","rank_id":"1"},
        {"device_id":"1","rank_id":"0"}
      ]
    }
  ]
}
)");
}

TEST(Rewrite, WritesNumbersInTheRankList) {
  EXPECT_EQ(rewritten(R"({"version": "2.0", "status": "completed", "rank_count": "1",
                "rank_list": [{"rank_id": "0", "device_id": "3", "local_id": 3}]})"),
            R"({
  "version": "2.0",
  "status": "completed",
  "rank_count": 1,
  "rank_list": [
    {"rank_id":0,"device_id":3,"local_id":3}
  ]
}
)");
}

TEST(Rewrite, AddsTheStatusThatHcclWaitsFor) {
  for (const std::string text :
       {R"({"version":"1.0","server_list":[{"server_id":"a","device":[{"device_id":"0","rank_id":"0"}]}]})",
        R"({"version":"1.2","server_list":[{"server_id":"a","device":[{"device_id":"0","rank_id":"0"}]}]})",
        R"({"version":"2.0","rank_list":[{"rank_id":0,"device_id":0,"local_id":0}]})"}) {
    EXPECT_NE(rewritten(text).find(R"("status": "completed")"), std::string::npos) << text;
  }
}

TEST(Rewrite, WritesNumbersThatItDoesNotKnowAsPeopleDo) {
  const std::string text =
      "\xEF\xBB\xBF"
      R"({"status":"completed","version":1.0,"server_count":"1",
      "a":0.1,"b":[2.50,{"c":18446744073709551615}],"d":-9007199254740993,"e":3.0,"server_list":
      [{"server_id":"a","device":[{"device_id":"0","rank_id":"0","load":0.3,"a9E1":"x9E1"}]}]})";

  EXPECT_EQ(rewritten(text), R"({
  "status": "completed",
  "version": "1.0",
  "server_count": "1",
  "a": 0.1,
  "b": [
    2.5,
    {"c":18446744073709551615}
  ],
  "d": -9007199254740993,
  "e": 3.0,
  "server_list": [
    {
      "server_id": "a",
      "device": [
        {"device_id":"0","rank_id":"0","load":0.3,"a9E1":"x9E1"}
      ]
    }
  ]
}
)");
}

TEST(Write, MakesATableThatIsReadTheSame) {
  Table table;
  table.instances = {{"", "10.0.0.1", {}, {{0, 0, "192.1.0.1", ""}}}, {"", "10.0.0.2", {}, {{1, 4, "192.1.0.2", ""}}}};
  table.size = 2;

  const std::string text = write(table);

  const Reading reading = read(text, "written");
  ASSERT_TRUE(std::holds_alternative<Table>(reading));
  EXPECT_EQ(write(std::get<Table>(reading)), text);
  EXPECT_EQ(rewritten(text), text);
}

}  // namespace
}  // namespace muster::rank_table
