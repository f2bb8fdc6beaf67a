// The order of the instances of a group.
#include "rank_table/pod_number.hpp"

#include <charconv>

namespace muster::rank_table {

std::optional<std::uint64_t> pod_number(std::string_view pod_name) {
  const std::size_t dash = pod_name.rfind('-');
  const std::string_view digits =
      dash == std::string_view::npos ? pod_name : pod_name.substr(dash + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = error == std::errc{} && end == digits.data() + digits.size();
  if (!is_whole || digits.size() > 18) {
    return std::nullopt;
  }
  return number;
}

}  // namespace muster::rank_table
