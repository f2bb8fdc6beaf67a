// Merges rank tables, servers and votes on a route plan.
#include "exchange/exchanged_rank_table.hpp"

#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "rank_table/generate.hpp"
#include "rank_table/rewrite.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace muster {
namespace {

using TableOfNode = Contribution<TableContribution>;
using TablesOfNodes = std::vector<TableOfNode>;

std::string name_of(NodeRank node) {
  return "node " + to_string(node);
}

/// "node 2 (10.0.0.3)".
std::string whole_name_of(NodeRank node, std::string_view address) {
  return name_of(node) + (address.empty() ? "" : " (" + std::string(address) + ")");
}

std::string whole_name_of(const TableOfNode& node) {
  return whole_name_of(node.node, node.address);
}

Error different(const TableOfNode& one, const TableOfNode& other, const std::string& how) {
  return {ErrorKind::BadData, whole_name_of(one) + " and " + whole_name_of(other) + " " + how};
}

const char* kind_of(const TableContribution& own) {
  return own.report ? "has a rank table" : own.server ? "generates a rank table" : "has no rank table";
}

/// Describes the first node that contributes another kind of value than node 0.
Result<> check_mixture(const TablesOfNodes& all) {
  const std::string first = kind_of(all.front().value);
  const auto other = std::ranges::find_if(all, [&](const TableOfNode& node) { return kind_of(node.value) != first; });
  if (other == all.end()) {
    return {};
  }
  return Error{ErrorKind::BadData, whole_name_of(all.front()) + " " + first + ", and " + whole_name_of(*other) + " " +
                                       kind_of(other->value) + ": expected the same on all nodes"};
}

/// Checks that each rank of the table is started by exactly one node. When some nodes do not take part, the ranks of those may
/// be missing.
Result<> check_ranks(const TablesOfNodes& all) {
  constexpr std::size_t kMostNamed = 60;
  const TableReport& first = *all.front().value.report;
  std::vector<const TableOfNode*> owners(static_cast<std::size_t>(first.summary.size), nullptr);
  for (const TableOfNode& node : all) {
    const auto& ranks = node.value.report->part.ranks;
    const TableOfNode* other = nullptr;
    const auto taken = std::ranges::find_if(ranks, [&](int rank) {
      other = std::exchange(owners.at(static_cast<std::size_t>(rank)), &node);
      return other != nullptr;
    });
    if (other != nullptr) {
      return different(*other, node,
                       "would both start rank " + std::to_string(*taken) +
                           " of the rank table: expected a part of its own for each node");
    }
  }
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < owners.size(); ++rank) {
    if (owners[rank] == nullptr) {
      missing.push_back(static_cast<int>(rank));
    }
  }
  if (missing.empty()) {
    return {};
  }
  const bool is_complete = all.size() >= static_cast<std::size_t>(first.part.most_nodes);
  const std::string named = (missing.size() == 1 ? "rank " : "ranks ") + describe_ranges(missing);
  return Error{is_complete ? ErrorKind::BadData : ErrorKind::Incomplete,
               "no node that takes part would start " + one_line(named, kMostNamed) + " of the rank table, which has " +
                   count_of(owners.size(), "rank")};
}

Result<std::string> compare(const TablesOfNodes& all) {
  const TableOfNode& first = all.front();
  const rank_table::Summary& summary = first.value.report->summary;
  SameTable same{summary.digest, {}};
  for (const TableOfNode& node : all) {
    const TableReport& report = *node.value.report;
    const std::string difference =
        rank_table::describe_difference(summary, name_of(first.node), report.summary, name_of(node.node));
    if (!difference.empty()) {
      return different(first, node, "have different rank tables: " + difference);
    }
    if (!report.part.server_id.empty() && !node.address.empty()) {
      same.pod_addresses.emplace_back(report.part.server_id, node.address);
    }
  }
  TRY(check_ranks(all));
  return Encoding<SameTable>::write(same);
}

Result<std::string> generate(TablesOfNodes& all) {
  std::vector<rank_table::Instance> servers;
  std::vector<std::string> names;
  for (TableOfNode& node : all) {
    LocalServer& own = node.value.server.value();
    rank_table::Instance& server = servers.emplace_back(std::move(own.instance));
    if (server.server_id.empty()) {
      const bool is_local = node.address.empty() || is_loopback(node.address);
      server.server_id = is_local ? own.host : node.address;
    }
    names.push_back(whole_name_of(node));
  }
  return rank_table::write(TRY(rank_table::merge_servers(servers, names)));
}

/// The first line of a summary. It is enough to compare tables: a large job compares them whenever a node gets a
/// newer one.
struct Head {
  std::string_view digest;
  int version = 0;
};

/// Reads the head of a summary; empty for another contribution, or if the controller counts no versions.
std::optional<Head> read_head(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const std::size_t blank = line.find(' ');
  const auto version = blank == std::string_view::npos
                           ? std::nullopt
                           : parse_integer(line.substr(blank + 1), 0, std::numeric_limits<int>::max());
  return version ? std::optional(Head{line.substr(0, blank), *version}) : std::nullopt;
}

}  // namespace

/// Says which node still waits for the newest table of the controller; empty: none.
std::string RankTableValue::pending(const std::vector<gang::NodePart>& parts) {
  std::vector<Head> heads;
  for (const gang::NodePart& part : parts) {
    const auto head = read_head(part.bytes);
    if (!head) {
      return {};  // merging reports the error
    }
    heads.push_back(*head);
  }
  const auto oldest = std::ranges::min_element(heads, {}, &Head::version);
  const auto newest = std::ranges::max_element(heads, {}, &Head::version);
  const bool is_same =
      std::ranges::all_of(heads, [&](const Head& head) { return head.digest == heads.front().digest; });
  if (is_same || oldest->version == newest->version) {
    return {};
  }
  const auto name_at = [&](auto place) {
    const gang::NodePart& part = parts[static_cast<std::size_t>(place - heads.begin())];
    return whole_name_of(part.node, part.address);
  };
  return name_at(newest) + " has version " + std::to_string(newest->version) + " of the rank table, and " +
         name_at(oldest) + " still has version " + std::to_string(oldest->version);
}

Result<std::string> RankTableValue::merge(TablesOfNodes all) {
  TRY(check_mixture(all));
  return all.front().value.report ? compare(all) : generate(all);
}

std::string Encoding<TableContribution>::write(const TableContribution& own) {
  std::string document = gang::fields::write_json(own);
  if (!own.report) {
    return document;
  }
  const auto& version = own.report->part.version;
  return own.report->summary.digest + " " + (version ? std::to_string(*version) : "") + "\n" + document;
}

Result<TableContribution> Encoding<TableContribution>::read(std::string_view bytes) {
  if (bytes.empty()) {
    return TableContribution();
  }
  auto own = TRY(gang::fields::read_json<TableContribution>(bytes.substr(std::min(bytes.find('{'), bytes.size()))));
  if (own.is_empty()) {
    return Error{ErrorKind::BadData, "expected a summary or a server"};
  }
  for (const int rank : own.report ? own.report->part.ranks : std::vector<int>()) {
    if (rank >= own.report->summary.size) {
      return Error{ErrorKind::BadData, "the table has no rank " + std::to_string(rank) + ", expected less than " +
                                           std::to_string(own.report->summary.size)};
    }
  }
  return own;
}

// The route plan.

Result<rank_table::RouteVote> Encoding<rank_table::RouteVote>::read(std::string_view bytes) {
  return bytes.empty() ? rank_table::RouteVote() : gang::fields::read_json<rank_table::RouteVote>(bytes);
}

Result<rank_table::RouteDecision> RoutePlanValue::merge(std::vector<Contribution<rank_table::RouteVote>> all) {
  std::vector<rank_table::RouteVote> votes(all.size());
  std::ranges::transform(all, votes.begin(), [](auto& node) { return std::move(node.value); });
  return rank_table::decide_route(votes);
}

}  // namespace muster
