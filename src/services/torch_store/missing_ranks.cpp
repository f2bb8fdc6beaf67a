// Nodes with the same address, such as those of a test on one machine, are looked at as one.
#include "services/torch_store/missing_ranks.hpp"

#include "base/rank_words.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace muster {
namespace {

/// What is at one address.
struct Place {
  std::set<int> missing;    ///< ranks; all of them at first
  std::size_t unknown = 0;  ///< have come, and nobody knows which they are
};

using Places = std::map<std::string, Place, decltype(&is_before)>;  ///< by address

Places find_places(const std::vector<gang::NodePlace>& nodes) {
  Places places(is_before);
  int next = 0;
  for (const gang::NodePlace& node : nodes) {
    for (int i = 0; i < node.slots; ++i) {
      places[node.address].missing.insert(next++);
    }
  }
  return places;
}

std::string describe_ranks_of(const std::set<int>& ranks) {
  return describe_ranks(std::vector<int>(ranks.begin(), ranks.end()));
}

void note_arrivals(Places& places,
                   const std::string& here,
                   const std::vector<store::Process>& arrived,
                   const RankOf& rank_of) {
  for (const store::Process& process : arrived) {
    Place& place = places[is_from(process, here) ? here : process.address];
    const auto rank = rank_of_process(process, here, rank_of);
    if (!rank || place.missing.erase(*rank) == 0) {
      ++place.unknown;
    }
  }
}

}  // namespace

std::string describe_missing(const std::vector<store::Process>& arrived,
                             const std::vector<gang::NodePlace>& nodes,
                             const RankOf& rank_of) {
  Places places = find_places(nodes);
  note_arrivals(places, nodes.empty() ? std::string() : nodes.front().address, arrived, rank_of);
  std::set<int> missing;
  std::vector<std::string> words;
  for (auto& [address, place] : places) {
    if (place.unknown == 0) {
      missing.merge(place.missing);
    } else if (place.unknown < place.missing.size()) {
      words.push_back(std::to_string(place.missing.size() - place.unknown) + " of " +
                      describe_ranks_of(place.missing) + " (" + address + ")");
    }
  }
  if (!missing.empty()) {
    words.insert(words.begin(), describe_ranks_of(missing));
  }
  return join(words, " and ");
}

}  // namespace muster
