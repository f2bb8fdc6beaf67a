// What a node makes of ROUTE_PLAN=true; see the header.
#include "base/text.hpp"
#include "inputs/route.hpp"
#include "rank_table/read.hpp"

#include <cerrno>
#include <filesystem>

namespace muster {
namespace {

using rank_table::RouteRequest;
using rank_table::Table;

/// In a row of a console, whatever the path is.
std::string quoted(const std::string& path) {
  return "'" + one_line(path, 300) + "'";
}

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

RouteFinding by_switches(const Table& table,
                         std::size_t own,
                         const rank_table::SwitchPaths& switches,
                         const std::string& path) {
  auto order = rank_table::order_ring(table, switches, path);
  return order ? with_ranks(own, std::move(order->ranks))
               : without_plan(own, order.error().message);
}

}  // namespace

std::variant<RouteFinding, Pending> judge_route(const RouteRequest& request,
                                                const Table& table,
                                                std::size_t own,
                                                const RouteFiles& files) {
  if (const auto reason = rank_table::reason_to_skip(table)) {
    return without_plan(own, *reason);
  }
  if (files.planned.error_number == 0) {
    return by_planned_table(table, own, files.planned);
  }
  if (request.position) {
    return by_place(request, own);
  }
  const FileContent& found = files.topology;
  const std::string name = "topology " + quoted(request.topology_file);
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
  return by_switches(table, own, std::get<rank_table::SwitchPaths>(reading), request.topology_file);
}

RouteFiles find_routes(const RouteRequest& request, const std::string& table) {
  Input planned;
  planned.path = (std::filesystem::path(table).parent_path() / rank_table::kPlannedTable).string();
  Input topology;
  topology.path = request.topology_file;
  return {look_at(planned), look_at(topology)};
}

}  // namespace muster
