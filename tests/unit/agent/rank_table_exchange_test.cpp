// The rank table that an attempt uses, of those that this node has read.
#include "agent/startup_exchange.hpp"
#include "exchange/exchanged_rank_table.hpp"
#include "rank_table/read.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// Two servers with a device each; this node is the second one.
rank_table::TableFile table_of(const std::string& network, int version) {
  const auto server = [&](const std::string& number, const std::string& rank) {
    return R"({"server_id": "10.0.0.)" + number + R"(", "device": [{"device_id": "0", "device_ip": ")" + network +
           number + R"(", "rank_id": ")" + rank + R"("}]})";
  };
  rank_table::TableFile file;
  file.path = "/x/hccl.json";
  file.text = R"({"status": "completed", "version": "1.0", "server_count": "2", "server_list": [)" + server("1", "0") +
              ", " + server("2", "1") + "]}";
  file.table = std::get<rank_table::Table>(rank_table::read(file.text, file.path));
  file.version = version;
  return file;
}

class OwnTables : public ::testing::Test {
 protected:
  OwnTables() {
    input.emplace();
    input->cluster.job.least_nodes = input->cluster.job.most_nodes = 2;
    input->cluster.node.rank = NodeRank{1};
    input->snapshot.addresses = {"10.0.0.2"};
  }
  void take(const std::string& network, int version, bool is_restart = false) {
    const auto taken = table.take(table_of(network, version), is_restart);
    ASSERT_TRUE(taken) << taken.error().message;
  }
  /// The merged value when this node contributes `told`, and the first node the same with its own rank.
  static gang::Exchanged agreed_on(const TableContribution& told) {
    TableContribution other = told;
    other.report->part.ranks = {0};
    return {
        {RankTableValue::kName, RankTableValue::merge({{{0}, "10.0.0.1", other}, {{1}, "10.0.0.2", told}}).value()}};
  }
  /// The address of this node's device by the table of the attempt.
  std::string address(const gang::Exchanged& merged) const {
    const auto part = table.part(Placement{}, merged, {});
    return part ? part->devices.at(0).addresses : "none";
  }

  std::optional<PlanInput> input;
  RankTableExchange table{input};
};

TEST_F(OwnTables, AreNoneBeforeOneIsRead) {
  EXPECT_TRUE(table.contribution().is_empty());
  EXPECT_EQ(address({}), "none");
}

TEST_F(OwnTables, CountAgainBeforeARestartWhenTheyAreNewer) {
  take("192.168.0.", 1);
  const auto merged = agreed_on(table.contribution());
  EXPECT_EQ(address(merged), "192.168.0.2");
  take("192.168.1.", 1, /*is_restart=*/true);
  EXPECT_EQ(address(merged), "192.168.0.2") << "its controller has not counted it yet";
  take("192.168.1.", 2, /*is_restart=*/true);
  EXPECT_EQ(address(agreed_on(table.contribution())), "192.168.1.2");
}

TEST_F(OwnTables, SayWhatASchedulerDoesNotFind) {
  InputTemplate wanted;
  wanted.is_rank_table = wanted.adds_pod_addresses = true;
  input->mode.mode.inputs = {wanted};
  input->snapshot.host_name = "job-worker-1";
  rank_table::TableFile file;
  file.text =
      R"({"status": "completed", "group_list": [{"group_name": "w", "instance_list": [
      {"pod_name": "job-worker-0", "server_id": "10.0.0.9", "devices": [{"device_id": "0"}]},
      {"pod_name": "job-worker-1", "server_id": "10.0.0.9", "devices": [{"device_id": "1"}]}]}]})";
  file.table = std::get<rank_table::Table>(rank_table::read(file.text, "t"));
  ::testing::internal::CaptureStderr();
  const auto taken = table.take(std::move(file), /*is_restart=*/false);
  const std::string said = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_NE(said.find("2 pods of the rank table share the server '10.0.0.9'"), std::string::npos) << said;
}

TEST_F(OwnTables, AreTheOnesThatAllNodesHaveAgreedOn) {
  take("192.168.0.", 1);
  const auto merged = agreed_on(table.contribution());
  take("192.168.1.", 2);  // the start was on its way
  EXPECT_EQ(address(merged), "192.168.0.2");
  EXPECT_EQ(address(agreed_on(table.contribution())), "192.168.1.2");
}

}  // namespace
}  // namespace muster
