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

LinkBudget::Rank LinkBudget::rank_of(LinkId link, const Entry& entry) {
  return {entry.is_new ? std::max(entry.voice, Voice::Speaks) : entry.voice, link};
}

template <typename Change>
void LinkBudget::change(LinkId link, Entry& entry, const Change& change) {
  update(entry.neighbourhood, [&](Neighbourhood& its) {
    its.links.erase(rank_of(link, entry));
    change(entry);
    its.links.insert(rank_of(link, entry));
  });
}

void LinkBudget::age() {
  if (newest_.size() <= most_ / 2) {
    return;
  }
  const auto oldest = links_.find(newest_.front());
  if (oldest != links_.end()) {
    change(oldest->first, oldest->second, [](Entry& entry) { entry.is_new = false; });
  }
  newest_.pop_front();
}

void LinkBudget::add(LinkId link, const std::string& neighbourhood, Voice voice) {
  const Entry& entry = links_.emplace(link, Entry{neighbourhood, voice}).first->second;
  update(neighbourhood, [&](Neighbourhood& its) { its.links.insert(rank_of(link, entry)); });
  newest_.push_back(link);
  age();
}

void LinkBudget::raise(LinkId link, Voice voice) {
  const auto at = links_.find(link);
  if (at != links_.end() && at->second.voice < voice) {
    change(link, at->second, [&](Entry& entry) { entry.voice = voice; });
  }
}

void LinkBudget::remove(LinkId link) {
  const auto taken = links_.extract(link);
  if (!taken.empty()) {
    update(taken.mapped().neighbourhood,
           [&](Neighbourhood& its) { its.links.erase(rank_of(link, taken.mapped())); });
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
