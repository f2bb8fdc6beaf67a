// The budget for links of strangers: see the header.
#include "gang/protocol/link_budget.hpp"

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
                                     const SourcePrefix& source_prefix) const {
  const Rank first = *source_prefix.links.begin();
  const std::size_t room = source_prefix.members;
  const std::size_t strange =
      source_prefix.links.size() - std::min(room, source_prefix.links.size());
  return {first.first == Trust::Authenticated,
          strange > share_ ? -static_cast<std::ptrdiff_t>(strange) : 0,
          strange == 0,
          first,
          name};
}

template <typename Change>
void LinkBudget::update(const std::string& name, const Change& change) {
  SourcePrefix& source_prefix = neighbourhoods_[name];
  if (!source_prefix.links.empty()) {
    turns_.erase(turn_of(name, source_prefix));
  }
  change(source_prefix);
  if (!source_prefix.links.empty()) {
    turns_.insert(turn_of(name, source_prefix));
  } else if (source_prefix.members == 0) {
    neighbourhoods_.erase(name);
  }
}

LinkBudget::Rank LinkBudget::rank_of(LinkId link, const Entry& entry) {
  return {entry.is_new ? std::max(entry.trust, Trust::Active) : entry.trust, link};
}

template <typename Change>
void LinkBudget::change(LinkId link, Entry& entry, const Change& change) {
  update(entry.source_prefix, [&](SourcePrefix& its) {
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

void LinkBudget::add(LinkId link, const std::string& source_prefix, Trust trust) {
  const Entry& entry = links_.emplace(link, Entry{source_prefix, trust}).first->second;
  update(source_prefix, [&](SourcePrefix& its) { its.links.insert(rank_of(link, entry)); });
  newest_.push_back(link);
  age();
}

void LinkBudget::raise(LinkId link, Trust trust) {
  const auto at = links_.find(link);
  if (at != links_.end() && at->second.trust < trust) {
    change(link, at->second, [&](Entry& entry) { entry.trust = trust; });
  }
}

void LinkBudget::remove(LinkId link) {
  const auto taken = links_.extract(link);
  if (!taken.empty()) {
    update(taken.mapped().source_prefix,
           [&](SourcePrefix& its) { its.links.erase(rank_of(link, taken.mapped())); });
  }
}

void LinkBudget::note_member(const std::string& source_prefix) {
  update(source_prefix, [](SourcePrefix& its) { ++its.members; });
}

void LinkBudget::forget_member(const std::string& source_prefix) {
  update(source_prefix, [](SourcePrefix& its) { its.members -= its.members > 0 ? 1 : 0; });
}

std::optional<LinkId> LinkBudget::excess() const {
  if (links_.size() <= most_) {
    return std::nullopt;
  }
  return std::get<Rank>(*turns_.begin()).second;
}

}  // namespace muster::gang
