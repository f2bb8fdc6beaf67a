// Reading rank tables: their forms, incomplete texts and wrong fields.
#include "rank_table/read.hpp"

#include <gtest/gtest.h>

namespace muster::rank_table {
namespace {

Table table_in(std::string_view text) {
  Reading reading = read(text, "hccl.json");
  if (const auto* error = std::get_if<Error>(&reading)) {
    ADD_FAILURE() << error->message;
    return {};
  }
  if (const auto* unfinished = std::get_if<Unfinished>(&reading)) {
    ADD_FAILURE() << unfinished->reason;
    return {};
  }
  return std::get<Table>(std::move(reading));
}

std::string reason_of(std::string_view text) {
  const Reading reading = read(text, "hccl.json");
  const auto* unfinished = std::get_if<Unfinished>(&reading);
  return unfinished == nullptr ? "finished" : unfinished->reason;
}

std::string error_of(std::string_view text) {
  const Reading reading = read(text, "hccl.json");
  const auto* error = std::get_if<Error>(&reading);
  return error == nullptr ? "no error" : error->message;
}

TEST(Read, OrdersInstancesOfAGroupByTheNumberOfThePod) {
  const Table table = table_in(R"({"status": "completed", "group_count": "1", "group_list": [
      {"group_name": "job", "device_count": "3", "instance_count": "3", "instance_list": [
        {"pod_name": "job-10", "server_id": "10.0.0.3", "devices": [{"device_id": "2"}]},
        {"pod_name": "job-9", "server_id": "10.0.0.2", "devices": [{"device_id": 1}]},
        {"pod_name": "job-0", "server_id": "10.0.0.1", "devices": [{"device_id": "0",
         "device_ip": "192.1.0.1"}]}]}]})");

  ASSERT_EQ(table.form, Form::Groups);
  ASSERT_EQ(table.instances.size(), 3U);
  EXPECT_EQ(table.size, 3);
  EXPECT_EQ(table.instances[0].pod_name, "job-0");
  EXPECT_EQ(table.instances[0].devices[0].addresses, "192.1.0.1");
  EXPECT_EQ(table.instances[2].pod_name, "job-10");
  EXPECT_EQ(table.instances[2].devices[0].rank, 2);
  EXPECT_EQ(table.instances[2].devices[0].id, 2);
}

TEST(Read, PassesOverGroupsWithoutDevices) {
  const Table table = table_in(R"({"status": "completed", "group_count": "2", "group_list": [
      {"group_name": "ps", "device_count": "0", "instance_count": "1", "instance_list": [
        {"pod_name": "ps-0", "server_id": "10.0.0.1"}]},
      {"group_name": "job", "device_count": "1", "instance_count": "1", "instance_list": [
        {"pod_name": "job-0", "server_id": "10.0.0.1", "devices": [{"device_id": "5"}]}]}]})");

  ASSERT_EQ(table.instances.size(), 1U);
  EXPECT_EQ(table.instances[0].pod_name, "job-0");
}

TEST(Read, JoinsProcessesOfOneHostInTheFormWithoutAVersion) {
  const Table table = table_in(R"({"status": "completed", "board_id": "0x0020", "group_list": [
      {"device_num": "2", "server_num": "1", "instance_list": [
        {"rank_id": "1", "server_id": "a", "devices": [{"device_id": "1"}]},
        {"rank_id": "0", "server_id": "a", "devices": [{"device_id": "0"}]}]}]})");

  ASSERT_EQ(table.form, Form::Standard);
  ASSERT_EQ(table.instances.size(), 1U);
  EXPECT_EQ(table.instances[0].devices[0].rank, 1);
  EXPECT_EQ(table.instances[0].devices[1].rank, 0);
}

TEST(Read, TakesNumbersAsTextAndAsNumbers) {
  const Table table = table_in(R"({"status": "completed", "version": "1.0", "server_count": 1,
      "server_list": [{"server_id": "a", "host_ip": "10.0.0.7",
        "device": [{"device_id": 3, "rank_id": 0}, {"device_id": "4", "rank_id": "1"}]}]})");

  ASSERT_EQ(table.form, Form::Version1);
  EXPECT_EQ(table.instances[0].addresses, std::vector<std::string>{"10.0.0.7"});
  EXPECT_EQ(table.instances[0].devices[0].id, 3);
  EXPECT_EQ(table.instances[0].devices[1].rank, 1);
}

TEST(Read, FindsSuperPods) {
  const Table table = table_in(R"({"status": "completed", "version": "1.2", "server_count": "1",
      "server_list": [{"server_id": "a", "device":
        [{"device_id": "0", "rank_id": "0", "super_device_id": "17"}]}],
      "super_pod_list": [{"super_pod_id": "5", "server_list": [{"server_id": "a"}]}]})");

  ASSERT_EQ(table.form, Form::SuperPods);
  EXPECT_EQ(table.super_pods[0].id, "5");
  EXPECT_EQ(table.super_pods[0].server_ids, std::vector<std::string>{"a"});
  EXPECT_EQ(table.instances[0].devices[0].super_device_id, "17");
}

TEST(Read, StartsAHostWhereADeviceOfTheRankListComesAgain) {
  const Table table = table_in(R"({"version": "2.0", "rank_count": 3, "rank_list": [
      {"rank_id": 0, "local_id": 0, "device_id": 0}, {"rank_id": 1, "local_id": 1, "device_id": 1},
      {"rank_id": 2, "local_id": 0, "device_id": 0}]})");

  ASSERT_EQ(table.form, Form::Version2);
  ASSERT_EQ(table.instances.size(), 2U);
  EXPECT_EQ(table.instances[1].devices[0].rank, 2);
}

TEST(Read, TakesTheFirstAddressInTheRankList) {
  const Table table = table_in(R"({"version": "2.0", "rank_count": 1, "rank_list": [
      {"rank_id": 0, "local_id": 0, "device_id": 0, "level_list": [
        {"net_layer": 0, "net_instance_id": "a", "rank_addr_list": []},
        {"net_layer": 1, "net_instance_id": "b", "rank_addr_list": [
          {"addr_type": "EID", "addr": "df00"}, {"addr_type": "EID", "addr": "df01"}]},
        {"net_layer": 2, "net_instance_id": "c", "rank_addr_list": [{"addr": "df02"}]}]}]})");

  EXPECT_EQ(table.instances.at(0).devices.at(0).addresses, "df00");
}

TEST(Read, WaitsForTextThatEndsInTheMiddle) {
  const std::string whole =
      R"({"status": "completed", "version": "1.0", "server_count": "1", "server_list": [{"server_id": "é",)"
      R"( "device": [{"device_id": "0", "rank_id": "0"}]}]})";
  EXPECT_EQ(reason_of(""), "it is empty");
  for (std::size_t length = 1; length < whole.size(); ++length) {
    EXPECT_EQ(reason_of(whole.substr(0, length)), "it ends in the middle (being written)");
  }
  EXPECT_EQ(table_in(whole + "\n").size, 1);
  EXPECT_EQ(table_in("\xEF\xBB\xBF" + whole).size, 1);
  EXPECT_EQ(reason_of(whole.substr(0, 9) + std::string(40, '\0')), "it ends in the middle (being written)");
  for (const std::size_t zeros : {1, 40}) {
    EXPECT_EQ(reason_of(std::string(zeros, '\0')), "it ends in the middle (being written)");
    EXPECT_EQ(reason_of("\n{" + std::string(zeros, '\0')), "it ends in the middle (being written)");
  }
}

TEST(Read, RefusesWhatDoesNotBeginAsJson) {
  const auto utf16 = [](const std::string& text, bool is_high_first) {
    std::string out;
    for (const char letter : text) {
      out += is_high_first ? std::string{'\0', letter} : std::string{letter, '\0'};
    }
    return out;
  };
  const std::string expected = "rank table 'hccl.json': line 1 is no JSON (";
  EXPECT_EQ(error_of(std::string("\x1F\x8B\x08\0\0", 5)),
            expected + "it is compressed with gzip), expected a JSON object (CANN: EI0004)");
  for (const std::string& text : {utf16("{}\n", false), utf16("{}\n", true), "\xFF\xFE" + utf16("{}\n", false),
                                  "\xFE\xFF" + utf16("{}\n", true)}) {
    EXPECT_EQ(error_of(text), expected + "it is UTF-16 and not UTF-8), expected a JSON object (CANN: EI0004)");
  }
  EXPECT_EQ(error_of(std::string("<html>\0", 7)), expected + "syntax error), expected a JSON object (CANN: EI0004)");
}

TEST(Read, RefusesANumberOutOfRange) {
  EXPECT_EQ(error_of(R"({"status":"completed","x":[1,{"y":-1e400}],"server_list":[]})"),
            "rank table 'hccl.json': x[1].y is too large, expected a number below 1.8e308 (CANN: "
            "EI0004)");
}

TEST(Read, NamesMissingInstances) {
  EXPECT_EQ(reason_of(R"({"status": "initializing"})"), "initializing: it lists nothing yet");
  EXPECT_EQ(reason_of(R"({"status": "initializing", "group_list": [{"group_name": "job",
                "instance_count": "4", "instance_list": [
                {"pod_name": "job-0", "devices": [{"device_id": "0"}]},
                {"pod_name": "job-3", "devices": []}]}]})"),
            "initializing: 1 of 4 instances is there (job-0), job-3 has no devices, "
            "no instance 1-2 of group job");
  EXPECT_EQ(reason_of(R"({"status": "unknown", "version": "1.0", "server_count": "3",
                "server_list": [{"server_id": "10.0.0.1"}]})"),
            "its writer says that the state is unknown: 1 of 3 servers is there (10.0.0.1)");
}

TEST(Read, NeedsNoIndentation) {
  EXPECT_EQ(without_indentation("{\n  \"a b\": [ 1,\n\t 2 ]\n\n   \n}  \n "), "{\n\"a b\": [ 1,\n2 ]\n\n\n}  \n");
  EXPECT_EQ(without_indentation(" {\n"), " {\n");
  EXPECT_EQ(without_indentation(" "), " ");
  EXPECT_EQ(without_indentation(""), "");
}

TEST(Read, RefusesWhatNoWaitingMends) {
  EXPECT_EQ(error_of("{\n]"),
            "rank table 'hccl.json': line 2 is no JSON (syntax error), expected a JSON object "
            "(CANN: EI0004)");
  EXPECT_EQ(error_of(R"({"status": "completed", "version": "1.0"})"),
            "rank table 'hccl.json': server_list is missing, expected a list (CANN: EI0004)");
  EXPECT_EQ(error_of(R"({"status": "completed", "version": "1.0", "server_list":
                [{"server_id": "a", "device": [{"device_id": "0", "rank_id": "x"}]}]})"),
            "rank table 'hccl.json': server_list[0].device[0].rank_id is \"x\", "
            "expected a number from 0 (CANN: EI0004)");
}

}  // namespace
}  // namespace muster::rank_table
