// The policy of a mapping, and its modifiers.
#include "compat/mapping.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace muster {
namespace {

constexpr int kMostPerNode = 10'000'000;
constexpr std::size_t kWordsOfCount = 3;  ///< "ppr", "2" and "node"

/// What stands behind the policy, where colons and commas separate.
std::vector<std::string> modifiers_of(const std::vector<std::string>& words, std::size_t first) {
  std::vector<std::string> modifiers;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::vector<std::string> some = split(words[i], ',');
    modifiers.insert(modifiers.end(), some.begin(), some.end());
  }
  return modifiers;
}

bool is_about_slots(const std::string& modifier) {
  return modifier == "oversubscribe" || modifier == "nooversubscribe";
}

}  // namespace

Mapping read_mapping(std::string_view text) {
  Mapping mapping;
  const std::vector<std::string> words = split(lower_case(std::string(text)), ':');
  const bool is_count = words.size() >= kWordsOfCount && words[0] == "ppr";
  if (is_count && words[2] == "node") {
    mapping.per_node = parse_integer(words[1], 1, kMostPerNode);
  }
  mapping.counts_objects = is_count && !mapping.per_node;
  const auto modifiers = modifiers_of(words, is_count ? kWordsOfCount : 1);
  mapping.may_oversubscribe =
      std::find(modifiers.begin(), modifiers.end(), "oversubscribe") != modifiers.end();
  const bool is_by_slot = words.empty() || words[0].empty() || words[0] == "slot";
  mapping.is_own = (is_by_slot || mapping.per_node) &&
                   std::all_of(modifiers.begin(), modifiers.end(), is_about_slots);
  return mapping;
}

}  // namespace muster
