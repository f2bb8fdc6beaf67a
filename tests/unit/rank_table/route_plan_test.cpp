// ROUTE_PLAN: what is asked for, the topology of strangers, and the decision of all nodes.
#include "rank_table/route_plan.hpp"

#include "rank_table/tables.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <resolv.h>
#include <zlib.h>

namespace muster::rank_table {
namespace {

/// As the platform does it.
std::string pack(const std::string& document) {
  std::string packed(document.size() / 500 + 1000, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(document.data()));
  stream.avail_in = static_cast<uInt>(document.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  std::string text(packed.size() * 2 + 8, '\0');
  const int size = b64_ntop(reinterpret_cast<unsigned char*>(packed.data()), packed.size(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string server(const std::string& id, const std::vector<std::string>& switches) {
  std::string devices;
  for (const std::string& one : switches) {
    devices += devices.empty() ? "" : ",";
    devices += R"({"device_id":"0","tor_ip":")" + one + R"(","tor_port":"1"})";
  }
  return R"({"pod_name":"job","server_id":")" + id + R"(","device":[)" + devices + "]}";
}

std::string topology(const std::string& servers, const std::string& status = "completed") {
  return R"({"status":")" + status + R"(","version":"1.0","server_list":[)" + servers + "]}";
}

std::string reason_of(const TopologyReading& reading) {
  if (const auto* const unfinished = std::get_if<Unfinished>(&reading)) {
    return "not yet: " + unfinished->reason;
  }
  const auto* const error = std::get_if<Error>(&reading);
  return error != nullptr ? error->message : "";
}

TEST(DecodeTopology, ReadsTheSwitchesOfServers) {
  const auto reading = decode_topology(
      pack(topology(server("10.0.0.1", {"t2", "t1", "t2"}) + "," + server("10.0.0.2", {"t1"}))) + "\n", "t");
  const auto* const paths = std::get_if<SwitchPaths>(&reading);
  ASSERT_NE(paths, nullptr) << reason_of(reading);
  EXPECT_EQ(paths->at("10.0.0.1"), std::vector<std::string>{"t1+t2"});
  EXPECT_EQ(paths->at("10.0.0.2"), std::vector<std::string>{"t1"});
}

TEST(DecodeTopology, IsNotThereYet) {
  const std::string whole = pack(topology(server("10.0.0.1", {"t1"})));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(reason_of(decode_topology(whole.substr(0, size), "t")).substr(0, 8), "not yet:") << size;
  }
  EXPECT_EQ(reason_of(decode_topology(pack(topology("", "initializing")), "t")), "not yet: initializing");
  EXPECT_EQ(reason_of(decode_topology(pack("{}"), "t")), "not yet: without a status");
}

TEST(DecodeTopology, OfAnotherFormNeverWillBe) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"[]", "it is no JSON object"},
      {R"({"status":"completed"})", "it has no server_list"},
      {topology(server("", {"t1"})), "server_list[0] lacks a server_id or a tor_ip of each device"},
      {topology(server("a", {"t"}) + ",7"), "server_list[1] lacks a server_id or a tor_ip of each device"},
      {topology(server("a", {})), "server_list[0] lacks a server_id or a tor_ip of each device"},
      {topology(server("a", {"t", ""})), "server_list[0] lacks a server_id or a tor_ip of each device"}};
  for (const auto& [document, why] : wrong) {
    EXPECT_EQ(reason_of(decode_topology(pack(document), "t")), "the topology 't' has an unknown form: " + why);
  }
  EXPECT_EQ(reason_of(read_topology(topology(server("a", {"t"}) + "," + server("a", {"u"})), "t")),
            "the topology 't' has different switches for the server 'a'");
  for (const std::string other : {"{\"status\":\"completed\"}", "[", "H4sI*", "hello"}) {
    EXPECT_EQ(reason_of(decode_topology(other, "t")),
              "the topology 't' has an unknown form: it is no base64 of what gzip packs");
  }
  EXPECT_EQ(reason_of(decode_topology(pack("{"), "t")), "the topology 't' has an unknown form: it is no JSON");
  EXPECT_EQ(reason_of(decode_topology("H4sIAAAA", "t")), "not yet: torn");
  EXPECT_EQ(reason_of(decode_topology("bm8gZ3ppcA==", "t")),
            "the topology 't' has an unknown form: it is no base64 of what gzip packs");
}

TEST(DecodeTopology, RefusesABomb) {
  const std::string bomb = pack(std::string(std::size_t{64} << 20U, ' '));
  EXPECT_LT(bomb.size(), 100'000U);
  EXPECT_EQ(reason_of(decode_topology(bomb, "t")), "the topology 't' unpacks to more than 33554432 bytes");
  EXPECT_EQ(reason_of(decode_topology(std::string(5'000'000, 'A'), "t")),
            "the topology 't' has more than 4194304 bytes");
}

Snapshot with(std::map<std::string, std::string> variables) {
  Snapshot snapshot;
  snapshot.variables = std::move(variables);
  return snapshot;
}

TEST(RouteRequest, IsOffUnlessItIsTrue) {
  for (const std::string off : {"", "false", "False"}) {
    const auto request = read_route_request(with({{"ROUTE_PLAN", off}, {"RANK_AFTER_ACC", "x"}}));
    ASSERT_TRUE(request);
    EXPECT_FALSE(*request);
  }
  EXPECT_FALSE(*read_route_request(with({})));
  const auto unclear = read_route_request(with({{"ROUTE_PLAN", "1"}}));
  ASSERT_FALSE(unclear);
  EXPECT_EQ(unclear.error().message, "ROUTE_PLAN is '1', expected true or false");
}

TEST(RouteRequest, HasDefaults) {
  const auto plain = read_route_request(with({{"ROUTE_PLAN", "true"}}));
  ASSERT_TRUE(plain && *plain);
  EXPECT_EQ((*plain)->topology_file, "/user/config/ranktable_tor.json");
  EXPECT_EQ((*plain)->wait_seconds, 300);
  EXPECT_FALSE((*plain)->position);
  const auto full = read_route_request(with({{"ROUTE_PLAN", "TRUE"},
                                             {"TOPO_FILE_PATH", "/t"},
                                             {"ROUTE_TOPO_WAIT_TIME", "5"},
                                             {"RANK_AFTER_ACC", "2"},
                                             {"MA_MASTER_INDEX", "1"}}));
  ASSERT_TRUE(full && *full);
  EXPECT_EQ((*full)->topology_file, "/t");
  EXPECT_EQ((*full)->wait_seconds, 5);
  EXPECT_EQ((*full)->position, 2);
  EXPECT_EQ((*full)->first, 1);
  for (const std::string name : {"ROUTE_TOPO_WAIT_TIME", "RANK_AFTER_ACC", "MA_MASTER_INDEX"}) {
    const auto wrong = read_route_request(with({{"ROUTE_PLAN", "true"}, {name, "-1"}}));
    ASSERT_FALSE(wrong) << name;
    EXPECT_EQ(wrong.error().kind, ErrorKind::BadEnvironment);
    EXPECT_EQ(wrong.error().message.substr(0, name.size() + 8), name + " is '-1'");
  }
}

TEST(ReasonToSkip, IsFewOrPartlyFilledServers) {
  EXPECT_FALSE(reason_against_plan(numbered_table(3, 8)));
  EXPECT_FALSE(reason_against_plan(numbered_table(4, 16)));
  EXPECT_EQ(reason_against_plan(numbered_table(2, 8)),
            "a route plan is for jobs of at least 3 servers, and this job has 2");
  EXPECT_EQ(reason_against_plan(numbered_table(3, 4)),
            "a route plan is for whole servers, and of '10.0.0.0' the job has 4 devices");
  Table uneven = numbered_table(3, 8);
  uneven.instances[1].devices.pop_back();
  EXPECT_EQ(reason_against_plan(uneven), "a route plan is for whole servers, and of '10.0.0.1' the job has 7 devices");
  Table halves = numbered_table(4, 4);
  halves.instances[1].server_id = "10.0.0.0";
  halves.instances[3].server_id = "10.0.0.2";
  EXPECT_EQ(reason_against_plan(halves), "a route plan is for jobs of at least 3 servers, and this job has 2");
}

TEST(PlannedRanks, AreThoseOfTheSameDevices) {
  const Table table = numbered_table(3, 2);
  const Table planned = with_ranks(table, {0, 1, 4, 5, 3, 2});
  EXPECT_EQ(*planned_ranks(table, planned), (std::vector<int>{0, 1, 4, 5, 3, 2}));
  EXPECT_FALSE(planned_ranks(table, numbered_table(2, 2)));
  EXPECT_FALSE(planned_ranks(table, numbered_table(4, 2)));
  EXPECT_FALSE(planned_ranks(table, with_ranks(table, {0, 1, 2, 3, 4, 4})));
  const auto other = planned_ranks(table, numbered_table(3, 1));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "the planned table has no device 1 of server '10.0.0.0'");
}

RouteVote by_digest(const std::string& digest) {
  RouteVote vote;
  vote.digest = digest;
  return vote;
}

RouteVote by_place(int instance, int position, std::optional<int> first = {}) {
  RouteVote vote;
  vote.instance = instance;
  vote.position = position;
  vote.first = first;
  return vote;
}

RouteVote without(const std::string& reason) {
  RouteVote vote;
  vote.reason = reason;
  return vote;
}

TEST(DecideRoute, DoesNotApplyWithoutVotes) {
  const auto decision = decide_route({{}, {}, {}});
  EXPECT_FALSE(decision.applies);
  EXPECT_EQ(decision.reason, "");
}

TEST(DecideRoute, AllHaveOnePlan) {
  const auto decision = decide_route({by_digest("a"), by_digest("a"), by_digest("a")});
  EXPECT_TRUE(decision.applies);
  EXPECT_TRUE(decision.positions.empty());
}

TEST(DecideRoute, OneThatDiffersMakesAllFallBack) {
  const auto reason = [](const std::vector<RouteVote>& votes) {
    const auto decision = decide_route(votes);
    EXPECT_FALSE(decision.applies);
    return decision.reason;
  };
  EXPECT_EQ(reason({by_digest("a"), by_digest("a"), by_digest("b")}), "node 2 has another plan than node 0");
  EXPECT_EQ(reason({by_digest("a"), without("no topology"), by_digest("a")}), "of node 1: no topology");
  EXPECT_EQ(reason({by_digest("a"), {}, by_digest("a")}), "of node 1: ROUTE_PLAN is not true");
  EXPECT_EQ(reason({by_digest("a"), by_place(1, 1)}), "node 1 has another plan than node 0");
  EXPECT_EQ(reason({by_place(0, 1), by_place(1, 1), by_place(2, 2)}), "RANK_AFTER_ACC is 1 on both node 0 and node 1");
  EXPECT_EQ(reason({by_place(0, 0), by_place(1, 2)}), "RANK_AFTER_ACC of node 1 is 2, and there are 2 nodes");
  EXPECT_EQ(reason({by_place(0, 0), by_place(0, 1)}), "the nodes are not the instances of the rank table");
  EXPECT_EQ(reason({by_place(0, 0, 0), by_place(1, 1, 1)}),
            "MA_MASTER_INDEX is 1 on node 1, but node 1 does not have RANK_AFTER_ACC=0");
  EXPECT_EQ(reason({by_place(0, 0), by_place(1, 1, 7)}),
            "MA_MASTER_INDEX is 7 on node 1, but node 7 does not have RANK_AFTER_ACC=0");
}

TEST(DecideRoute, PlacesMakeAPlan) {
  const auto decision = decide_route({by_place(1, 0, 0), by_place(2, 2, 0), by_place(0, 1, 0)});
  ASSERT_TRUE(decision.applies) << decision.reason;
  EXPECT_EQ(decision.positions, (std::vector<int>{1, 0, 2}));
  const Table table = with_ranks(numbered_table(3, 2), {0, 1, 3, 2, 4, 5});
  EXPECT_EQ(ranks_by_position(table, decision.positions), (std::vector<int>{2, 3, 1, 0, 4, 5}));
}

TEST(DigestOf, TellsRanksApart) {
  EXPECT_EQ(digest_of({0, 2, 1}).size(), 16U);
  EXPECT_NE(digest_of({0, 2, 1}), digest_of({0, 1, 2}));
}

}  // namespace
}  // namespace muster::rank_table
