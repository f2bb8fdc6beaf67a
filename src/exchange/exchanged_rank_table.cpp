// Encodes rank tables, servers and votes on a route plan as JSON, and merges the contributions of all nodes.
#include "exchange/exchanged_rank_table.hpp"

#include "base/json.hpp"
#include "base/ranks.hpp"
#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "rank_table/generate.hpp"
#include "rank_table/rewrite.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <stdexcept>
#include <variant>

namespace muster {
namespace {

using gang::NodePart;
using rank_table::Device;
using rank_table::Instance;
using rank_table::Summary;

constexpr std::size_t kMostBytesOfNode = std::size_t{256} << 10U;
constexpr std::size_t kMostMergedBytes = std::size_t{16} << 20U;

/// A node's summary of its table.
struct TableReport {
  Summary summary;
  PartOfTable part;
};

/// The contribution of a node. Monostate: it has no table and makes none.
using Contribution = std::variant<std::monostate, TableReport, Instance>;

json::array to_array(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

// The readers below throw: muster has written this JSON, so invalid content is a bug or comes from another program.

std::vector<std::string> to_texts(const json::value& value) {
  return json::value_to<std::vector<std::string>>(value);
}

TableReport to_said(const json::object& object) {
  TableReport said{
      {json::value_to<int>(object.at("size")), json::value_to<int>(object.at("server_count")),
       json::value_to<std::string>(object.at("table_version")), json::value_to<std::string>(object.at("digest")),
       object.at("is_short").as_bool(), to_texts(object.at("ranks")), to_texts(object.at("servers")),
       json::value_to<std::string>(object.at("rest"))},
      {json::value_to<std::vector<int>>(object.at("own_ranks")), json::value_to<std::string>(object.at("server_id")),
       object.at("version").is_null() ? std::nullopt : std::optional(json::value_to<int>(object.at("version"))),
       json::value_to<int>(object.at("most_nodes"))}};
  for (const int rank : said.part.ranks) {
    if (rank < 0 || rank >= said.summary.size) {
      throw std::out_of_range("a rank that the table does not have");
    }
  }
  return said;
}

Instance to_server(const json::object& object, std::string_view address) {
  Instance server;
  server.server_id = json::value_to<std::string>(object.at("id"));
  if (server.server_id.empty()) {
    const bool is_local = address.empty() || is_loopback(address);
    server.server_id = is_local ? json::value_to<std::string>(object.at("host")) : std::string(address);
  }
  for (const json::value& item : object.at("devices").as_array()) {
    Device device;
    device.id = json::value_to<int>(item.at("id"));
    device.addresses = json::value_to<std::string>(item.at("addresses"));
    server.devices.push_back(std::move(device));
  }
  return server;
}

Contribution read_part(const NodePart& part) {
  if (part.bytes.empty()) {
    return {};
  }
  const std::string_view text = part.bytes.substr(std::min(part.bytes.find('{'), part.bytes.size()));
  const json::object document = json::parse({text.data(), text.size()}).as_object();
  return document.contains("server") ? Contribution(to_server(document.at("server").as_object(), part.address))
                                     : Contribution(to_said(document.at("summary").as_object()));
}

Result<std::vector<Contribution>> read_all(const std::vector<NodePart>& parts) {
  std::vector<Contribution> all;
  all.reserve(parts.size());
  for (const NodePart& part : parts) {
    try {
      all.push_back(read_part(part));
    } catch (const std::exception&) {  // Boost.JSON reports errors by exceptions
      return Error{ErrorKind::System, "of node " + to_string(part.node) + " is torn"};
    }
  }
  return all;
}

std::string name_of(const NodePart& part) {
  return "node " + to_string(part.node);
}

/// "node 2 (10.0.0.3)".
std::string whole_name_of(const NodePart& part) {
  return name_of(part) + (part.address.empty() ? "" : " (" + std::string(part.address) + ")");
}

Error different(const NodePart& one, const NodePart& other, const std::string& how) {
  return {ErrorKind::BadData, whole_name_of(one) + " and " + whole_name_of(other) + " " + how};
}

/// Describes the first node whose contribution differs in kind from node 0's.
std::optional<Error> find_mixture(const std::vector<NodePart>& parts, const std::vector<Contribution>& all) {
  constexpr std::array<const char*, 3> kKinds{"has no rank table", "has a rank table", "generates a rank table"};
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].index() != all[0].index()) {
      return Error{ErrorKind::BadData, whole_name_of(parts[0]) + " " + kKinds.at(all[0].index()) + ", and " +
                                           whole_name_of(parts[i]) + " " + kKinds.at(all[i].index()) +
                                           ": expected the same of all nodes"};
    }
  }
  return std::nullopt;
}

/// Checks that each rank of the table is started by exactly one node.
class RankOwners {
 public:
  explicit RankOwners(int size) : owners_(static_cast<std::size_t>(size), nullptr) {}

  Result<> add(const NodePart& node, const std::vector<int>& ranks) {
    for (const int rank : ranks) {
      const NodePart*& owner = owners_.at(static_cast<std::size_t>(rank));
      if (owner != nullptr) {
        return different(*owner, node,
                         "would both start rank " + std::to_string(rank) +
                             " of the rank table: expected a part of its own for each node");
      }
      owner = &node;
    }
    return {};
  }

  /// Checks that no rank is missing. When some nodes do not take part, the ranks of those may be.
  [[nodiscard]] Result<> check_all(bool is_complete) const {
    constexpr std::size_t kMostNamed = 60;
    std::vector<int> missing;
    for (std::size_t rank = 0; rank < owners_.size(); ++rank) {
      if (owners_[rank] == nullptr) {
        missing.push_back(static_cast<int>(rank));
      }
    }
    const std::string named = (missing.size() == 1 ? "rank " : "ranks ") + describe_ranges(missing);
    return missing.empty() ? Result<>()
                           : Error{is_complete ? ErrorKind::BadData : ErrorKind::Incomplete,
                                   "no node that takes part would start " + one_line(named, kMostNamed) +
                                       " of the rank table, which has " + count_of(owners_.size(), "rank")};
  }

 private:
  std::vector<const NodePart*> owners_;
};

Result<> check_ranks(const std::vector<NodePart>& parts, const std::vector<Contribution>& all) {
  RankOwners owners(std::get<TableReport>(all[0]).summary.size);
  for (std::size_t i = 0; i < all.size(); ++i) {
    TRY(owners.add(parts[i], std::get<TableReport>(all[i]).part.ranks));
  }
  const int most_nodes = std::get<TableReport>(all[0]).part.most_nodes;
  return owners.check_all(parts.size() >= static_cast<std::size_t>(most_nodes));
}

Result<std::string> compare(const std::vector<NodePart>& parts, const std::vector<Contribution>& all) {
  const Summary& first = std::get<TableReport>(all[0]).summary;
  json::object addresses;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const TableReport& said = std::get<TableReport>(all[i]);
    const std::string difference =
        rank_table::describe_difference(first, name_of(parts[0]), said.summary, name_of(parts[i]));
    if (!difference.empty()) {
      return different(parts[0], parts[i], "have different rank tables: " + difference);
    }
    if (!said.part.server_id.empty() && !parts[i].address.empty()) {
      addresses.emplace(said.part.server_id,
                        parts[i].address);  // of the first of a server's pods
    }
  }
  TRY(check_ranks(parts, all));
  return json::serialize(json::value{{"digest", first.digest}, {"pod_addresses", std::move(addresses)}});
}

Result<std::string> generate(const std::vector<NodePart>& parts, const std::vector<Contribution>& all) {
  std::vector<Instance> servers;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    servers.push_back(std::get<Instance>(all[i]));
    names.push_back(whole_name_of(parts[i]));
  }
  const auto table = rank_table::merge_servers(servers, names);
  return table ? Result<std::string>(rank_table::write(*table)) : table.error();
}

Result<std::string> merge(const std::vector<NodePart>& parts) {
  const auto all = TRY(read_all(parts));
  if (auto mixture = find_mixture(parts, all)) {
    return *mixture;
  }
  return std::holds_alternative<TableReport>(all.front()) ? compare(parts, all) : generate(parts, all);
}

/// The first line of a summary: enough to compare tables cheaply, because a large job compares them each time that a
/// node gets a newer one.
struct Head {
  std::string_view digest;
  int version = 0;
};

/// Empty for other contributions, or when the controller counts no versions.
std::optional<Head> read_head(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const std::size_t blank = line.find(' ');
  const auto version = blank == std::string_view::npos
                           ? std::nullopt
                           : parse_integer(line.substr(blank + 1), 0, std::numeric_limits<int>::max());
  return version ? std::optional(Head{line.substr(0, blank), *version}) : std::nullopt;
}

/// Says which node still waits for the newest table of the controller; empty: none.
std::string wait_for_newest(const std::vector<NodePart>& parts) {
  std::vector<Head> heads;
  for (const NodePart& part : parts) {
    const auto head = read_head(part.bytes);
    if (!head) {
      return {};  // merging reports the error
    }
    heads.push_back(*head);
  }
  const auto is_older = [](const Head& a, const Head& b) { return a.version < b.version; };
  const auto oldest = std::min_element(heads.begin(), heads.end(), is_older);
  const auto newest = std::max_element(heads.begin(), heads.end(), is_older);
  const bool is_same =
      std::all_of(heads.begin(), heads.end(), [&](const Head& head) { return head.digest == heads.front().digest; });
  if (is_same || oldest->version == newest->version) {
    return {};
  }
  const auto name_at = [&](auto place) {
    return whole_name_of(parts[static_cast<std::size_t>(place - heads.begin())]);
  };
  return name_at(newest) + " has version " + std::to_string(newest->version) + " of the rank table, and " +
         name_at(oldest) + " still has version " + std::to_string(oldest->version);
}

}  // namespace

gang::ExchangeKey rank_table_key() {
  return {"rank_table", gang::Phase::BeforeStart, kMostBytesOfNode, kMostMergedBytes, merge, wait_for_newest};
}

std::string write_summary(const Summary& summary, const PartOfTable& part) {
  json::value document = {{"summary",
                           {{"size", summary.size},
                            {"server_count", summary.server_count},
                            {"table_version", summary.version},
                            {"digest", summary.digest},
                            {"is_short", summary.is_short},
                            {"ranks", to_array(summary.ranks)},
                            {"servers", to_array(summary.servers)},
                            {"rest", summary.rest},
                            {"own_ranks", json::array(part.ranks.begin(), part.ranks.end())},
                            {"server_id", part.server_id},
                            {"version", part.version ? json::value(*part.version) : json::value()},
                            {"most_nodes", part.most_nodes}}}};
  make_valid_utf8(document);
  const std::string head = summary.digest + " " + (part.version ? std::to_string(*part.version) : "") + "\n";
  return head + json::serialize(document);
}

Result<SameTable> read_same_table(std::string_view merged) {
  try {
    const json::value document = json::parse({merged.data(), merged.size()});
    return SameTable{json::value_to<std::string>(document.at("digest")),
                     json::value_to<std::map<std::string, std::string>>(document.at("pod_addresses"))};
  } catch (const std::exception&) {
    return Error{ErrorKind::BadData, "what the nodes know of the rank table cannot be read"};
  }
}

std::string write_server(const Instance& server, const std::string& host) {
  json::array devices;
  for (const Device& device : server.devices) {
    devices.push_back({{"id", device.id}, {"addresses", device.addresses}});
  }
  json::value document = {{"server", {{"id", server.server_id}, {"host", host}, {"devices", std::move(devices)}}}};
  make_valid_utf8(document);
  return json::serialize(document);
}

// Votes about the route plan, and the decision that all nodes get.

namespace {

using rank_table::RouteDecision;
using rank_table::RouteVote;

constexpr std::size_t kMostDecisionBytes = std::size_t{1} << 20U;

std::string encode(const RouteDecision& decision) {
  return json::serialize(
      json::object{{"applies", decision.applies},
                   {"reason", decision.reason},
                   {"positions", json::array(decision.positions.begin(), decision.positions.end())}});
}

Result<std::string> decide(const std::vector<gang::NodePart>& parts) {
  std::vector<RouteVote> votes;
  for (const gang::NodePart& part : parts) {
    auto vote = part.bytes.empty() ? Result<RouteVote>(RouteVote()) : rank_table::decode_vote(part.bytes);
    if (!vote) {
      return Error{ErrorKind::System, "of node " + to_string(part.node) + " is torn"};
    }
    votes.push_back(std::move(*vote));
  }
  return encode(rank_table::decide_route(votes));
}

}  // namespace

gang::ExchangeKey route_key() {
  return {"route_plan", gang::Phase::BeforeStart, rank_table::kMostVoteBytes, kMostDecisionBytes, decide};
}

Result<RouteDecision> read_route_decision(std::string_view merged) {
  try {
    const json::object document = json::parse({merged.data(), merged.size()}).as_object();
    return RouteDecision{document.at("applies").as_bool(), json::value_to<std::string>(document.at("reason")),
                         json::value_to<std::vector<int>>(document.at("positions"))};
  } catch (const std::exception&) {  // Boost.JSON reports errors by exceptions
    return Error{ErrorKind::BadData, "the decision about the route plan is torn"};
  }
}

}  // namespace muster
