// Judges a table by all rules.
#include "rank_table/checks.hpp"
#include "rank_table/document.hpp"

#include <set>
#include <utility>

namespace muster::rank_table {

std::vector<Breach> check(std::string_view text, const Rules& rules) {
  json::monotonic_resource memory;
  Document document = parse(text, memory);
  if (std::holds_alternative<Unfinished>(document)) {
    return {};
  }
  if (auto* breach = std::get_if<Breach>(&document)) {
    return {std::move(*breach)};
  }
  auto& root = std::get<json::object>(document);
  Breaches breaches(rules.most);
  const Layout layout = lay_out(root, breaches);
  const Checked table{root, layout, rules, breaches};
  check_counts(table);
  check_servers(table);
  check_ranks(table);
  check_addresses(table);
  check_super_pods(table);
  check_levels(table);
  return std::move(breaches.found());
}

std::string_view server_of(const InstancePlace& instance) {
  return text_of(*instance.instance, "server_id");
}

std::size_t count_servers(const Layout& layout) {
  std::set<std::string_view> ids;
  for (const InstancePlace& instance : layout.instances) {
    ids.insert(server_of(instance));
  }
  return ids.size();
}

}  // namespace muster::rank_table
