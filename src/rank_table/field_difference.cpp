// Where two JSON values differ. Documents are as deep as the parser lets them be.
#include "rank_table/field_difference.hpp"

#include <algorithm>

namespace muster::rank_table {
namespace {

std::string value_of(const json::value* value) {
  return value == nullptr ? "missing" : written(value);
}

std::string path_of_member(const std::string& path, std::string_view key) {
  return path + (path.empty() ? "" : ".") + std::string(key);
}

// NOLINTNEXTLINE(misc-no-recursion)
std::optional<FieldDifference> difference_of_objects(const json::object& one,
                                                     const json::object& other,
                                                     const std::string& path) {
  for (const auto& member : one) {
    const json::value* there = other.if_contains(member.key());
    const std::string name = path_of_member(path, member.key());
    if (there == nullptr) {
      return FieldDifference{name, value_of(&member.value()), value_of(nullptr)};
    }
    if (auto found = first_difference(member.value(), *there, name)) {
      return found;
    }
  }
  for (const auto& member : other) {
    if (!one.contains(member.key())) {
      return FieldDifference{
          path_of_member(path, member.key()), value_of(nullptr), value_of(&member.value())};
    }
  }
  return std::nullopt;
}

// NOLINTNEXTLINE(misc-no-recursion)
std::optional<FieldDifference> difference_of_arrays(const json::array& one,
                                                    const json::array& other,
                                                    const std::string& path) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const std::string name = path + "[" + std::to_string(i) + "]";
    const json::value* here = one.if_contains(i);
    const json::value* there = other.if_contains(i);
    if (here == nullptr || there == nullptr) {
      return FieldDifference{name, value_of(here), value_of(there)};
    }
    if (auto found = first_difference(*here, *there, name)) {
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion)
std::optional<FieldDifference> first_difference(const json::value& one,
                                                const json::value& other,
                                                const std::string& path) {
  if (one.is_object() && other.is_object()) {
    return difference_of_objects(one.get_object(), other.get_object(), path);
  }
  if (one.is_array() && other.is_array()) {
    return difference_of_arrays(one.get_array(), other.get_array(), path);
  }
  return one == other ? std::nullopt
                      : std::optional(FieldDifference{path, value_of(&one), value_of(&other)});
}

}  // namespace muster::rank_table
