// Judges whether a rank table is complete, and what a route plan beside it says.
#include "rank_table/table_input.hpp"

#include "base/text.hpp"
#include "rank_table/read.hpp"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

namespace muster {
namespace {

/// Judges a rank table. Consumes the text, which may be large.
Answer judge_table(const Input& input, FileContent found, const rank_table::Rules& rules) {
  found.content = rank_table::without_indentation(std::move(found.content));
  auto [reading, breaches, notices] = rank_table::inspect(found.content, one_line(input.path, 1'024), rules);
  if (const auto* const unfinished = std::get_if<rank_table::Unfinished>(&reading)) {
    return Pending{name_of(input) + ": " + one_line(unfinished->reason, 200)};
  }
  if (auto* const error = std::get_if<Error>(&reading)) {
    return std::move(*error);
  }
  auto& table = std::get<rank_table::Table>(reading);
  if (!breaches.empty()) {
    // Reports the first breach, and names the command that shows all of them.
    std::string message = "the " + name_of(input) + " is invalid: " + describe(breaches.front());
    if (breaches.size() > 1) {
      message += "; there is more, which 'muster check ranktable " + input.path + "' shows";
    }
    return Error{ErrorKind::BadData, std::move(message)};
  }
  return Ready{rank_table::TableFile{input.path, std::move(found.content), std::move(table), found.version}};
}

}  // namespace

JudgeTable table_judge(const Snapshot& snapshot) {
  rank_table::Rules rules = rank_table::find_rules(snapshot);
  rules.most = 2;  // the first is reported, and whether there are more
  rules.wants_notices = false;
  return [rules](const Input& input, FileContent found) { return judge_table(input, std::move(found), rules); };
}

// Judges the route plan of a node (ROUTE_PLAN=true).

namespace {

using rank_table::RouteRequest;
using rank_table::Table;

RouteFinding without_plan(std::size_t own, const std::string& reason) {
  RouteFinding finding;
  finding.vote.instance = static_cast<int>(own);
  finding.vote.reason = reason;
  return finding;
}

RouteFinding with_ranks(std::size_t own, std::vector<int> ranks) {
  RouteFinding finding = without_plan(own, "");
  finding.vote.digest = rank_table::digest_of(ranks);
  finding.ranks = std::move(ranks);
  return finding;
}

RouteFinding by_planned_table(const Table& table, std::size_t own, const FileContent& planned) {
  const std::string name = std::string("the planned table '") + rank_table::kPlannedTable + "'";
  const auto reading = rank_table::read(planned.content, name);
  if (const auto* const error = std::get_if<Error>(&reading)) {
    return without_plan(own, error->message);
  }
  if (const auto* const unfinished = std::get_if<rank_table::Unfinished>(&reading)) {
    return without_plan(own, name + ": " + unfinished->reason);
  }
  auto ranks = rank_table::planned_ranks(table, std::get<Table>(reading));
  return ranks ? with_ranks(own, std::move(*ranks)) : without_plan(own, ranks.error().message);
}

RouteFinding by_place(const RouteRequest& request, std::size_t own) {
  RouteFinding finding = without_plan(own, "");
  finding.vote.position = request.position;
  finding.vote.first = request.first;
  return finding;
}

}  // namespace

std::variant<RouteFinding, Pending> judge_route(const RouteRequest& request, const Table& table, std::size_t own,
                                                const RouteFiles& files) {
  if (const auto reason = rank_table::reason_against_plan(table)) {
    return without_plan(own, *reason);
  }
  if (files.planned.error_number == 0) {
    return by_planned_table(table, own, files.planned);
  }
  if (request.position) {
    return by_place(request, own);
  }
  const FileContent& found = files.topology;
  const std::string name = "topology '" + one_line(request.topology_file, 300) + "'";
  if (found.error_number == ENOENT || found.error_number == ENOTDIR) {
    return Pending{name + ": missing"};
  }
  if (found.error_number != 0) {
    return without_plan(own, system_error("cannot read the " + name, found.error_number).message);
  }
  const auto reading = rank_table::decode_topology(found.content, request.topology_file);
  if (const auto* const unfinished = std::get_if<rank_table::Unfinished>(&reading)) {
    return Pending{name + ": " + unfinished->reason};
  }
  if (const auto* const error = std::get_if<Error>(&reading)) {
    return without_plan(own, error->message);
  }
  auto order = rank_table::order_ring(table, std::get<rank_table::SwitchPaths>(reading), request.topology_file);
  return order ? with_ranks(own, std::move(order->ranks)) : without_plan(own, order.error().message);
}

RouteFiles find_routes(const RouteRequest& request, const std::string& table) {
  Input planned;
  planned.path = (std::filesystem::path(table).parent_path() / rank_table::kPlannedTable).string();
  Input topology;
  topology.path = request.topology_file;
  return {read_input_file(planned), read_input_file(topology)};
}

}  // namespace muster
