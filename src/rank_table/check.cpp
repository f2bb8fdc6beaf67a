// Judges a table by all rules.
#include "rank_table/check.hpp"
#include "rank_table/document.hpp"

#include <set>

namespace muster::rank_table {

void check_all(const Checked& table) {
  check_counts(table);
  check_servers(table);
  check_ranks(table);
  check_addresses(table);
  check_super_pods(table);
  check_levels(table);
}

Rules find_rules(const Snapshot& snapshot) {
  const auto roce = snapshot.variables.find("HCCL_INTRA_ROCE_ENABLE");
  Rules rules;
  rules.needs_addresses = roce != snapshot.variables.end() && roce->second == "1";
  return rules;
}

std::vector<Breach> check(std::string_view text, const Rules& rules) {
  return inspect(text, "", rules).breaches;
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
