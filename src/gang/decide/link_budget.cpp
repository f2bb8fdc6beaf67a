// The budget for links of strangers: see the header.
#include "link_budget.hpp"

#include <algorithm>

namespace muster::gang {
namespace {

/// Of the budget each neighbourhood may have so much while it is scarce.
constexpr std::size_t kShares = 8;
constexpr std::size_t kLeastShare = 8;

}  // namespace

LinkBudget::LinkBudget(std::size_t most)
    : most_(most), share_(std::max(kLeastShare, most / kShares)) {}

LinkBudget::Turn LinkBudget::turn_of(const std::string& name,
                                     const Neighbourhood& neighbourhood) const {
  const Rank first = *neighbourhood.links.begin();
  const std::size_t room = neighbourhood.members;
  const std::size_t strange =
      neighbourhood.links.size() - std::min(room, neighbourhood.links.size());
  return {first.first == Voice::Proven,
          strange > share_ ? -static_cast<std::ptrdiff_t>(strange) : 0,
          strange == 0,
          first,
          name};
}

template <typename Change>
void LinkBudget::update(const std::string& name, const Change& change) {
  Neighbourhood& neighbourhood = neighbourhoods_[name];
  if (!neighbourhood.links.empty()) {
    turns_.erase(turn_of(name, neighbourhood));
  }
  change(neighbourhood);
  if (!neighbourhood.links.empty()) {
    turns_.insert(turn_of(name, neighbourhood));
  } else if (neighbourhood.members == 0) {
    neighbourhoods_.erase(name);
  }
}

void LinkBudget::add(LinkId link, const std::string& neighbourhood, Voice voice) {
  links_.emplace(link, std::pair(neighbourhood, voice));
  update(neighbourhood, [&](Neighbourhood& its) { its.links.emplace(voice, link); });
}

void LinkBudget::raise(LinkId link, Voice voice) {
  const auto at = links_.find(link);
  if (at == links_.end() || at->second.second >= voice) {
    return;
  }
  const Rank before{std::exchange(at->second.second, voice), link};
  update(at->second.first, [&](Neighbourhood& its) {
    its.links.erase(before);
    its.links.emplace(voice, link);
  });
}

void LinkBudget::remove(LinkId link) {
  const auto taken = links_.extract(link);
  if (!taken.empty()) {
    const auto& [neighbourhood, voice] = taken.mapped();
    const Rank rank{voice, link};
    update(neighbourhood, [&](Neighbourhood& its) { its.links.erase(rank); });
  }
}

void LinkBudget::note_member(const std::string& neighbourhood) {
  update(neighbourhood, [](Neighbourhood& its) { ++its.members; });
}

void LinkBudget::forget_member(const std::string& neighbourhood) {
  update(neighbourhood, [](Neighbourhood& its) { its.members -= its.members > 0 ? 1 : 0; });
}

std::optional<LinkId> LinkBudget::excess() const {
  if (links_.size() <= most_) {
    return std::nullopt;
  }
  return std::get<Rank>(*turns_.begin()).second;
}

}  // namespace muster::gang
