// The instance of a rank table that a node is, and the path of the table.
#include "rank_table/local_instance.hpp"

#include <gtest/gtest.h>

namespace muster::rank_table {
namespace {

Sourced<std::string> said(const std::string& value) {
  return {value, from_variable("V")};
}

TableFile file_of(std::vector<Instance> instances) {
  return {"/t", "", Table{Form::Version1, std::move(instances), {}, 0}};
}

TableFile pods() {
  return file_of({{"job-worker-0", "10.0.0.1", {}, {}},
                  {"job-worker-1", "10.0.0.2", {}, {}},
                  {"job-worker-2", "10.0.0.2", {"172.16.0.9"}, {}}});
}

TableFile servers() {
  return file_of({{"", "10.0.0.2", {}, {}}, {"", "10.0.0.1", {}, {}}});
}

/// "1", or the message.
std::string found(const TableFile& file, const OwnNames& own) {
  const auto instance = find_instance(file, own);
  return instance ? std::to_string(*instance) : instance.error().message;
}

OwnNames index_of(int index, int nodes) {
  OwnNames own;
  own.index = {index, from_variable("I")};
  own.nodes = nodes;
  return own;
}

TEST(FindInstance, GoesByTheNameOfThePod) {
  OwnNames own = index_of(0, 3);
  own.pods = {said("else"), said("job-worker-2")};
  own.addresses = {said("10.0.0.1")};
  EXPECT_EQ(found(pods(), own), "2");
}

TEST(FindInstance, GoesByTheNumberThatANameEndsWith) {
  OwnNames own = index_of(1, 3);
  own.addresses = {said("10.0.0.1")};
  EXPECT_EQ(found(pods(), own), "1");
}

TEST(FindInstance, CountsPodsOfAllGroupsByTheirRanks) {
  const auto pod = [](const std::string& name, int rank) {
    return Instance{name, "10.0.0." + std::to_string(rank), {}, {{rank, 0, "", ""}}};
  };
  const TableFile file = file_of({pod("job-chief-0", 0), pod("job-worker-0", 1), pod("job-worker-1", 2)});
  for (int index = 0; index < 3; ++index) {
    EXPECT_EQ(found(file, index_of(index, 3)), std::to_string(index));
  }
  EXPECT_EQ(found(file, index_of(3, 4)),
            "the rank table '/t' does not list this node: tried index 3 (I) of 3 pods; it has "
            "job-chief-0 on 10.0.0.0, job-worker-0 on 10.0.0.1, job-worker-1 on 10.0.0.2");
}

TEST(FindInstance, GoesByAnAddressThatOneAloneHas) {
  OwnNames own;
  own.addresses = {said("10.0.0.2"), said("172.16.0.9")};
  EXPECT_EQ(found(pods(), own), "2");
  own.addresses = {said("10.0.0.2")};
  EXPECT_EQ(found(pods(), own),
            "the rank table '/t' does not list this node: tried V '10.0.0.2', which 2 have; it has "
            "job-worker-0 on 10.0.0.1, job-worker-1 on 10.0.0.2, job-worker-2 on 10.0.0.2; --node-rank "
            "says which of them this is");
}

TEST(FindInstance, GoesByThePlaceInATableWithoutNames) {
  EXPECT_EQ(found(servers(), index_of(1, 2)), "1");
  OwnNames own = index_of(1, 2);
  own.addresses = {said("10.0.0.2")};
  EXPECT_EQ(found(servers(), own), "0");
}

TEST(FindInstance, CountsServersByTheirRanks) {
  const TableFile file =
      file_of({{"", "b", {}, {{2, 0, "", ""}, {3, 1, "", ""}}}, {"", "a", {}, {{1, 0, "", ""}, {0, 1, "", ""}}}});
  EXPECT_EQ(found(file, index_of(0, 2)), "1");
  EXPECT_EQ(found(file, index_of(1, 2)), "0");
  OwnNames own = index_of(1, 4);
  own.slots = 1;
  EXPECT_EQ(found(file, own), "1");
  own.index->value = 2;
  EXPECT_EQ(found(file, own), "0");
}

TEST(FindInstance, IsNeverTheFirstByDefault) {
  EXPECT_EQ(found(servers(), OwnNames()),
            "the rank table '/t' does not list this node: nothing says which pod this is; it has "
            "10.0.0.2, 10.0.0.1; --node-rank says which of them this is");
  EXPECT_EQ(found(servers(), index_of(0, 3)),
            "the rank table '/t' does not list this node: tried index 0 (I) of 3 nodes, "
            "nobody says with how many workers each (--nproc-per-node or ASCEND_VISIBLE_DEVICES "
            "does); it "
            "has 10.0.0.2, 10.0.0.1");
  EXPECT_EQ(found(pods(), index_of(7, 8)),
            "the rank table '/t' does not list this node: tried index 7 (I); it has job-worker-0 on "
            "10.0.0.1, job-worker-1 on 10.0.0.2, job-worker-2 on 10.0.0.2");
  EXPECT_EQ(found(file_of({}), OwnNames()),
            "the rank table '/t' does not list this node: nothing says which pod this is; it has no "
            "instance; --node-rank says which of them this is");
}

TEST(FindInstance, NamesAFewOfMany) {
  const TableFile file = file_of(std::vector<Instance>(10'000, {"", "a", {}, {}}));
  EXPECT_EQ(found(file, OwnNames()),
            "the rank table '/t' does not list this node: nothing says which pod this is; it has a, "
            "a, a, a, and 9996 more; --node-rank says which of them this is");
}

TEST(OwnNames, AreThoseOfTheSurroundings) {
  Snapshot snapshot;
  snapshot.host_name = "h";
  snapshot.addresses = {"10.0.0.1", "10.0.0.2"};
  snapshot.variables = {{"HOSTNAME", "h"}, {"MA_CURRENT_HOST_IP", "10.0.0.2"}, {"POD_NAME", ""}};
  const OwnNames own = own_names(snapshot);
  ASSERT_EQ(own.pods.size(), 1U);
  EXPECT_EQ(own.pods[0].source.name, "HOSTNAME");
  ASSERT_EQ(own.addresses.size(), 2U);
  EXPECT_EQ(own.addresses[0].source.name, "MA_CURRENT_HOST_IP");
  EXPECT_EQ(own.addresses[1].value, "10.0.0.1");
}

TEST(DevicesOf, HaveTheRanksThatWereAgreedOn) {
  const Table table = file_of({{"", "a", {}, {{0, 0, "10.1.0.1", ""}, {1, 1, "10.1.0.2", ""}}},
                               {"", "b", {}, {{2, 4, "10.1.0.3", ""}, {3, 5, "10.1.0.4", ""}}}})
                          .table;
  EXPECT_EQ(devices_of(table, 1)[0].rank, 2);
  const std::vector<Device> moved = devices_of(table, 1, {2, 3, 0, 1});
  ASSERT_EQ(moved.size(), 2U);
  EXPECT_EQ(moved[0].rank, 0);
  EXPECT_EQ(moved[1].rank, 1);
  EXPECT_EQ(moved[0].id, 4);
}

}  // namespace
}  // namespace muster::rank_table
