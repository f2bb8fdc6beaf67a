// The rules that HCCL has for a table, beyond its structure.
#include "rank_table/document.hpp"
#include "rank_table/layout.hpp"

#include <muster/rank_table/read.hpp>

#include <utility>

namespace muster::rank_table {

std::vector<Breach> check(std::string_view text, std::size_t most) {
  json::monotonic_resource memory;
  Document document = parse(text, memory);
  if (std::holds_alternative<Unfinished>(document)) {
    return {};
  }
  if (auto* breach = std::get_if<Breach>(&document)) {
    return {std::move(*breach)};
  }
  auto& root = std::get<json::object>(document);
  Breaches breaches(most);
  const Layout layout = lay_out(root, breaches);
  static_cast<void>(make_table(root, layout, breaches));
  return std::move(breaches.found());
}

}  // namespace muster::rank_table
