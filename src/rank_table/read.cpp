// From a file's text to a table.
#include "rank_table/check.hpp"

#include "rank_table/read.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace muster::rank_table {

namespace {

Error refuse(const std::string& name, const Breach& breach) {
  return {ErrorKind::BadData, "rank table '" + name + "': " + describe(breach)};
}

/// What the document says, and where it says it.
struct ParsedTable {
  Reading reading;
  Layout layout;
};

/// Breaches of its structure are added; the first, of whatever kind, makes it none.
ParsedTable understand(json::object& root, const std::string& name, Breaches& breaches) {
  Layout layout = lay_out(root, breaches);
  Breaches wrong(1);
  Table table = make_table(root, layout, wrong);
  const auto& first = breaches.found().empty() ? wrong.found() : breaches.found();
  return {first.empty() ? Reading(std::move(table)) : refuse(name, first.front()),
          std::move(layout)};
}

// NOLINTBEGIN(misc-no-recursion): documents are as deep as the parser lets them be
std::size_t count_members(const json::object& object);

std::size_t count_members_in(const json::value& value) {
  if (const json::object* object = value.if_object()) {
    return count_members(*object);
  }
  std::size_t count = 0;
  if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) {
      count += count_members_in(item);
    }
  }
  return count;
}

std::size_t count_members(const json::object& object) {
  std::size_t count = object.size();
  for (const auto& member : object) {
    count += count_members_in(member.value());
  }
  return count;
}
// NOLINTEND(misc-no-recursion)

/// Of a key that occurs twice the document has the last. Large tables are not read again to find none.
std::vector<Breach> find_repeated_keys(std::string_view text, std::size_t members) {
  if (count_keys(text) == members) {
    return {};
  }
  const auto key = find_repeated_key(text.substr(text.find('{')));
  return !key ? std::vector<Breach>()
              : std::vector<Breach>{
                    {*key, "written twice in one object", "it once; the last one counts", ""}};
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
  Memory memory;
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
  Memory memory;
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
  ParsedTable understood = understand(root, name, breaches);
  check_all({root, understood.layout, rules, breaches});
  std::vector<Breach> notices;
  if (rules.wants_remarks) {
    notices = find_repeated_keys(text, count_members(root));
    std::ranges::move(find_remarks(root, understood.layout), std::back_inserter(notices));
  }
  return {std::move(understood.reading), std::move(breaches.found()), std::move(notices)};
}

std::string describe(const Breach& breach) {
  return breach.path + (breach.value.empty() ? " is missing" : " is " + breach.value) +
         ", expected " + breach.expected +
         (breach.code.empty() ? "" : " (CANN: " + breach.code + ")");
}

}  // namespace muster::rank_table
