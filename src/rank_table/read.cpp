// From a file's text to a table.
#include "rank_table/checks.hpp"

#include <muster/rank_table/read.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster::rank_table {

namespace {

Error refuse(const std::string& name, const Breach& breach) {
  return {ErrorKind::BadData, "rank table '" + name + "': " + describe(breach)};
}

/// What the document says, and where it says it.
struct Understood {
  Reading reading;
  Layout layout;
};

/// Breaches of its structure are added; the first, of whatever kind, makes it none.
Understood understand(json::object& root, const std::string& name, Breaches& breaches) {
  Layout layout = lay_out(root, breaches);
  Breaches wrong(1);
  Table table = make_table(root, layout, wrong);
  const auto& first = breaches.found().empty() ? wrong.found() : breaches.found();
  return {first.empty() ? Reading(std::move(table)) : refuse(name, first.front()),
          std::move(layout)};
}

}  // namespace

std::string without_indentation(std::string text) {
  std::size_t kept = std::min(text.find('\n'), text.size());  // a first line may begin with a mark
  for (std::size_t at = kept; at < text.size();) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) {
      ++at;
    }
    const std::size_t end = text.find('\n', at);
    const std::size_t size = (end == std::string::npos ? text.size() : end + 1) - at;
    std::memmove(text.data() + kept, text.data() + at, size);
    kept += size;
    at += size;
  }
  text.resize(kept);
  text.shrink_to_fit();
  return text;
}

Reading read(std::string_view text, const std::string& name) {
  json::monotonic_resource memory;
  Document document = parse(text, memory);
  if (auto* unfinished = std::get_if<Unfinished>(&document)) {
    return std::move(*unfinished);
  }
  if (const auto* breach = std::get_if<Breach>(&document)) {
    return refuse(name, *breach);
  }
  Breaches breaches(1);
  return understand(std::get<json::object>(document), name, breaches).reading;
}

Inspection inspect(std::string_view text, const std::string& name, const Rules& rules) {
  json::monotonic_resource memory;
  Document document = parse(text, memory);
  if (auto* unfinished = std::get_if<Unfinished>(&document)) {
    return {std::move(*unfinished), {}, {}};
  }
  if (auto* breach = std::get_if<Breach>(&document)) {
    Error error = refuse(name, *breach);
    return {std::move(error), {std::move(*breach)}, {}};
  }
  auto& root = std::get<json::object>(document);
  Breaches breaches(rules.most);
  Understood understood = understand(root, name, breaches);
  check_all({root, understood.layout, rules, breaches});
  return {std::move(understood.reading),
          std::move(breaches.found()),
          find_remarks(root, understood.layout)};
}

std::string describe(const Breach& breach) {
  return breach.path + (breach.value.empty() ? " is missing" : " is " + breach.value) +
         ", expected " + breach.expected +
         (breach.code.empty() ? "" : " (CANN: " + breach.code + ")");
}

}  // namespace muster::rank_table
