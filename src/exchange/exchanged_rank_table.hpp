#pragma once

// Describes the rank tables and route plans that the nodes of a job exchange. All tables are equal, or become one
// table of all parts; the votes on ROUTE_PLAN become one decision.

#include "gang/exchanged_value.hpp"
#include "rank_table/compare.hpp"
#include "rank_table/rank_table.hpp"
#include "rank_table/route_plan.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A node's part of its table.
struct PartOfTable {
  std::vector<int> ranks;           ///< of its workers; each rank belongs to one node
  std::string server_id = {};       ///< set if others need the server's address
  std::optional<int> version = {};  ///< as the controller counts it
  int most_nodes = 0;               ///< the largest number of nodes of the job
};

/// A node's summary of its table.
struct TableReport {
  rank_table::Summary summary;
  PartOfTable part;
};

/// A node's devices, for a table that all nodes make together. If `server_id` is empty, it becomes the address at
/// which others reach the node, or `host` if that address is local to this machine.
struct LocalServer {
  rank_table::Instance instance;
  std::string host;
};

/// The contribution of a node; both empty: it has no table and makes none.
struct TableContribution {
  std::optional<TableReport> report;
  std::optional<LocalServer> server = {};

  bool is_empty() const { return !report && !server; }
};

/// Encodes a report as a line with digest and version; anything else as JSON.
template <>
struct Encoding<TableContribution> {
  static std::string write(const TableContribution& own);
  static Result<TableContribution> read(std::string_view bytes);
};

/// The result when all nodes have the same table.
struct SameTable {
  std::string digest;
  /// Address that other nodes can reach, by `server_id`; only for nodes that have named theirs.
  gang::fields::Named<std::string> pod_addresses;
};

/// Merges reports into the JSON of a `SameTable`, and servers into one table. While the reported versions differ, the
/// nodes wait for the newest one.
struct RankTableValue {
  static constexpr const char* kName = "rank_table";
  static constexpr std::size_t kMostOfNode = std::size_t{256} << 10U;
  static constexpr std::size_t kMostMerged = std::size_t{16} << 20U;
  using Own = TableContribution;
  using Agreed = std::string;
  static Result<Agreed> merge(std::vector<Contribution<Own>> all);
  static std::string pending(const std::vector<gang::NodePart>& parts);
};

/// The vote of a node; empty if the node was not asked to plan.
template <>
struct Encoding<rank_table::RouteVote> {
  static std::string write(const rank_table::RouteVote& vote) { return gang::fields::write_json(vote); }
  static Result<rank_table::RouteVote> read(std::string_view bytes);
};

/// The nodes' votes on ROUTE_PLAN become one decision.
struct RoutePlanValue {
  static constexpr const char* kName = "route_plan";
  static constexpr std::size_t kMostOfNode = 2'048;
  static constexpr std::size_t kMostMerged = std::size_t{1} << 20U;
  using Own = rank_table::RouteVote;
  using Agreed = rank_table::RouteDecision;
  static Result<Agreed> merge(std::vector<Contribution<Own>> all);
};

}  // namespace muster

namespace muster::gang::fields {

void describe(auto& io, TableReport& report) {
  io("size", report.summary.size, kNumber);
  io("server_count", report.summary.server_count, kNumber);
  io("table_version", report.summary.version, kAnyText);
  io("digest", report.summary.digest, kAnyText);
  io("is_short", report.summary.is_short, Flag{});
  io("ranks", report.summary.ranks, kAnyTexts);
  io("servers", report.summary.servers, kAnyTexts);
  io("rest", report.summary.rest, kAnyText);
  io("own_ranks", report.part.ranks, kNumbers);
  io("server_id", report.part.server_id, kAnyText);
  io("version", report.part.version, Nullable<Integer>{kNumber});
  io("most_nodes", report.part.most_nodes, kNumber);
}

void describe(auto& io, rank_table::Device& device) {
  io("id", device.id, kNumber);
  io("addresses", device.addresses, kAnyText);
}

void describe(auto& io, LocalServer& server) {
  io("id", server.instance.server_id, kAnyText);
  io("host", server.host, kAnyText);
  io("devices", server.instance.devices, List<Object>{kMostInt, Keep::First, {}});
}

void describe(auto& io, TableContribution& own) {
  io("summary", own.report, Object{});
  io("server", own.server, Object{});
}

void describe(auto& io, SameTable& same) {
  io("digest", same.digest, kAnyText);
  io("pod_addresses", same.pod_addresses, Members<Text>{kAnyText});
}

void describe(auto& io, rank_table::RouteVote& vote) {
  io("reason", vote.reason, Text{.most = 500});
  io("digest", vote.digest, kName);
  io("position", vote.position, Nullable<Integer>{kRank});
  io("instance", vote.instance, kRank);
  io("first", vote.first, Nullable<Integer>{kRank});
}

void describe(auto& io, rank_table::RouteDecision& decision) {
  io("applies", decision.applies, Flag{});
  io("reason", decision.reason, kAnyText);
  io("positions", decision.positions, kNumbers);
}

}  // namespace muster::gang::fields
