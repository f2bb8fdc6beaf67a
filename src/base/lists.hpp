#pragma once

// Searches lists, and makes lists from the items of others.

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <vector>

namespace muster {

/// The first item that meets the condition; null: none does. The items must outlive the result.
template <typename List, typename Condition>
auto* first_of(const List& list, const Condition& condition) {
  const auto at = std::ranges::find_if(list, condition);
  return at == std::ranges::end(list) ? nullptr : std::to_address(at);
}

/// Returns the results of the function, or the members, of all items in the order of the list.
template <typename List, typename Function>
auto mapped(const List& list, const Function& function) {
  std::vector<std::remove_cvref_t<std::invoke_result_t<Function, std::ranges::range_reference_t<const List>>>> results;
  std::ranges::transform(list, std::back_inserter(results), function);
  return results;
}

}  // namespace muster
