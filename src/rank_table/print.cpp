// Prints what holds no other list or object on one line, and what has a rank.
#include "rank_table/print.hpp"

#include <algorithm>
#include <utility>

namespace muster::rank_table {
namespace {

bool is_plain(const json::value& value) {
  return !value.is_object() && !value.is_array();
}

bool is_flat(const json::value& value) {
  if (const json::array* array = value.if_array()) {
    return std::all_of(array->begin(), array->end(), is_plain);
  }
  const json::object* object = value.if_object();
  return object == nullptr || object->contains("rank_id") ||
         std::all_of(object->begin(), object->end(), [](const auto& member) {
           return is_plain(member.value());
         });
}

/// Documents are as deep as the parser lets them be.
// NOLINTNEXTLINE(misc-no-recursion)
void append(std::string& out, const json::value& value, std::size_t depth) {
  if (is_flat(value)) {
    out += json::serialize(value);
    return;
  }
  bool is_first = true;
  const auto start_line = [&out, &is_first, depth] {
    out += std::exchange(is_first, false) ? "\n" : ",\n";
    out.append(2 * (depth + 1), ' ');
  };
  out += value.is_array() ? '[' : '{';
  if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) {
      start_line();
      append(out, item, depth + 1);
    }
  } else {
    for (const auto& member : value.get_object()) {
      start_line();
      out += json::serialize(member.key()) + ": ";
      append(out, member.value(), depth + 1);
    }
  }
  out += '\n';
  out.append(2 * depth, ' ');
  out += value.is_array() ? ']' : '}';
}

}  // namespace

std::string print(json::object&& root, std::size_t size) {
  const json::value document(std::move(root));
  std::string out;
  out.reserve(size);
  append(out, document, 0);
  out += '\n';
  return out;
}

}  // namespace muster::rank_table
