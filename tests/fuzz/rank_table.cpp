// Any text as a rank table: what is read, checked and rewritten agrees with itself.
#include "fuzz.hpp"
#include "rank_table/read.hpp"
#include "rank_table/rewrite.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace muster::fuzz {
namespace {

using namespace rank_table;

using Rank = std::tuple<int, std::string, int, std::string, std::string>;

/// Server and device of each rank, which rewriting may not change.
std::vector<Rank> ranks_of(const Table& table) {
  std::vector<Rank> ranks;
  for (const Instance& instance : table.instances) {
    for (const Device& device : instance.devices) {
      ranks.emplace_back(device.rank, instance.server_id, device.id, device.addresses, device.super_device_id);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// A table without a breach has each rank from 0 once.
void check_ranks(const std::vector<Rank>& ranks) {
  require(!ranks.empty(), "there is a device");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    require(std::get<0>(ranks[i]) == static_cast<int>(i), "each rank is given once");
  }
}

void check_table(std::string_view text, const Table& table) {
  const std::vector<Rank> ranks = ranks_of(table);
  require(ranks.size() == static_cast<std::size_t>(table.size), "the size is that of its devices");
  if (inspect(text, "").breaches.empty()) {
    check_ranks(ranks);
  }
  const std::string canonical = rewrite(std::string(text), table);
  const Reading again = read(canonical, "c");
  require(std::holds_alternative<Table>(again), "what is rewritten is a table");
  require(ranks_of(std::get<Table>(again)) == ranks, "rewriting changes no rank");
  require(rewrite(canonical, std::get<Table>(again)) == canonical, "rewriting ends");
  const std::string made = write(table);
  require(std::holds_alternative<Table>(read(made, "m")), "what is written is a table");
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using namespace muster::rank_table;
  const std::string_view text = fuzz::text_of(data, size);
  const auto [reading, breaches, notices] = inspect(text, "t");
  for (const Breach& breach : breaches) {
    fuzz::require(!breach.path.empty() && !breach.expected.empty(), "a breach is somewhere");
    fuzz::require(describe(breach).find('\n') == std::string::npos, "a breach is one line");
  }
  fuzz::require(reading.index() == read(text, "t").index(), "reading is a part of inspecting");
  if (const auto* table = std::get_if<Table>(&reading)) {
    fuzz::require(std::holds_alternative<Table>(read(without_indentation(std::string(text)), "t")),
                  "indentation says nothing");
    fuzz::check_table(text, *table);
    fuzz::require(std::holds_alternative<Unfinished>(read(text.substr(0, text.rfind('}')), "p")),
                  "a part of a table is torn");
  } else if (std::holds_alternative<Unfinished>(reading)) {
    fuzz::require(breaches.empty(), "what is not finished is not judged");
  } else {
    fuzz::require(!breaches.empty(), "what is refused breaks a rule");
  }
  return 0;
}
