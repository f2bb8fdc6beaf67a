// The order of the instances of a group.
#include "rank_table/pod_number.hpp"

#include <charconv>

namespace muster::rank_table {

std::optional<std::uint64_t> pod_number(std::string_view pod_name) {
  const std::size_t last = pod_name.find_last_not_of("0123456789");
  const std::string_view digits =
      last == std::string_view::npos ? pod_name : pod_name.substr(last + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || digits.size() > 18 || error != std::errc{}) {
    return std::nullopt;
  }
  return number;
}

}  // namespace muster::rank_table
