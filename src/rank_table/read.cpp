// From a file's text to a table.
#include "rank_table/document.hpp"
#include "rank_table/layout.hpp"

#include <muster/rank_table/read.hpp>

#include <utility>

namespace muster::rank_table {

Reading read(std::string_view text, const std::string& name) {
  const auto refuse = [&name](const Breach& breach) {
    return Error{ErrorKind::BadData, "rank table '" + name + "': " + describe(breach)};
  };
  json::monotonic_resource memory;
  Document document = parse(text, memory);
  if (auto* unfinished = std::get_if<Unfinished>(&document)) {
    return std::move(*unfinished);
  }
  if (const auto* breach = std::get_if<Breach>(&document)) {
    return refuse(*breach);
  }
  auto& root = std::get<json::object>(document);
  Breaches breaches(1);
  const Layout layout = lay_out(root, breaches);
  Table table = make_table(root, layout, breaches);
  if (!breaches.found().empty()) {
    return refuse(breaches.found().front());
  }
  return table;
}

std::string describe(const Breach& breach) {
  return breach.path + (breach.value.empty() ? " is missing" : " is " + breach.value) +
         ", expected " + breach.expected +
         (breach.code.empty() ? "" : " (CANN: " + breach.code + ")");
}

}  // namespace muster::rank_table
