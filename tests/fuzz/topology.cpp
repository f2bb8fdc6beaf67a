// Network topologies as untrusted input: the platform's compressed text, the document in it, and the file of lines.
// The first byte says which of them follows.
#include "rank_table/topology.hpp"

#include "fuzz.hpp"
#include "rank_table/route_plan.hpp"

#include <algorithm>
#include <string>
#include <variant>

namespace muster::fuzz {
namespace {

using namespace rank_table;

Table table_of(const SwitchPaths& paths) {
  Table table;
  for (const auto& [name, path] : paths) {
    table.instances.push_back({name, "", {}, {{table.size, 0, "", ""}}});
    ++table.size;
  }
  return table;
}

/// Every rank is given once, and no ring gets longer.
void check(const SwitchPaths& paths) {
  const Table table = table_of(paths);
  const auto order = order_ring(table, paths, "t");
  if (paths.count("") != 0) {
    return;
  }
  require(order.has_value(), "all nodes are there");
  require(order->hops_after <= order->hops_before, "a ring is never longer than before");
  std::vector<int> ranks = order->ranks;
  require(ranks.empty() || ranks.front() == 0, "the first node stays the first");
  std::sort(ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    require(ranks[i] == static_cast<int>(i), "each rank is given once");
  }
}

void check(const TopologyReading& reading) {
  if (const auto* const paths = std::get_if<SwitchPaths>(&reading)) {
    check(*paths);
  } else if (const auto* const unfinished = std::get_if<Unfinished>(&reading)) {
    require(!unfinished->reason.empty(), "there is a reason to wait");
  } else {
    require(!std::get<Error>(reading).message.empty(), "there is a reason to give up");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view bytes = fuzz::text_of(data, size);
  if (bytes.empty()) {
    return 0;
  }
  const std::string_view rest = bytes.substr(1);
  switch (bytes.front() % 4) {
    case 0:
      fuzz::check(rank_table::decode_topology(rest, "t"));
      break;
    case 1:
      fuzz::check(rank_table::read_topology(rest, "t"));
      break;
    default:
      if (const auto paths = rank_table::read_switches(rest, "t")) {
        fuzz::check(*paths);
      }
  }
  return 0;
}
