// Limits the links of peers outside the job, and summarizes rejected connections.
#include "gang/protocol/link_budget.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster::gang {
namespace {

/// Share of the budget that each source prefix may have while the budget is scarce.
constexpr std::size_t kShares = 8;
constexpr std::size_t kLeastShare = 8;

}  // namespace

LinkBudget::LinkBudget(std::size_t most) : most_(most), share_(std::max(kLeastShare, most / kShares)) {}

LinkBudget::Turn LinkBudget::turn_of(const std::string& name, const SourcePrefix& source_prefix) const {
  const Rank first = *source_prefix.links.begin();
  const std::size_t room = source_prefix.members;
  const std::size_t strange = source_prefix.links.size() - std::min(room, source_prefix.links.size());
  return {first.first == Trust::Authenticated, strange > share_ ? -static_cast<std::ptrdiff_t>(strange) : 0,
          strange == 0, first, name};
}

void LinkBudget::update(const std::string& name, const auto& change) {
  SourcePrefix& source_prefix = source_prefixes_[name];
  if (!source_prefix.links.empty()) {
    turns_.erase(turn_of(name, source_prefix));
  }
  change(source_prefix);
  if (!source_prefix.links.empty()) {
    turns_.insert(turn_of(name, source_prefix));
  } else if (source_prefix.members == 0) {
    source_prefixes_.erase(name);
  }
}

LinkBudget::Rank LinkBudget::rank_of(LinkId link, const Entry& entry) {
  return {entry.is_new ? std::max(entry.trust, Trust::Active) : entry.trust, link};
}

void LinkBudget::change_link(LinkId link, Entry& entry, const auto& change) {
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
    change_link(oldest->first, oldest->second, [](Entry& entry) { entry.is_new = false; });
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
    change_link(link, at->second, [&](Entry& entry) { entry.trust = trust; });
  }
}

void LinkBudget::remove(LinkId link) {
  const auto taken = links_.extract(link);
  if (!taken.empty()) {
    update(taken.mapped().source_prefix, [&](SourcePrefix& its) { its.links.erase(rank_of(link, taken.mapped())); });
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

// Log of rejected connections.

namespace {

using std::chrono::seconds;

/// Numbers of addresses that are named for each reason, and in all.
constexpr std::size_t kNamedOfReason = 5;
constexpr std::size_t kNamedConnections = 50;
/// Fewer connections in a span are not worth a line.
constexpr std::size_t kLeastCounted = 30;
constexpr std::size_t kMostAddresses = 1'000;
constexpr seconds kFirstSpan{30};
constexpr seconds kLongestSpan{600};

/// "48,211".
std::string with_commas(std::size_t number) {
  std::string digits = std::to_string(number);
  constexpr std::size_t kGroup = 3;
  for (std::size_t at = digits.size(); at > kGroup;) {
    at -= kGroup;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace

std::string RejectedConnectionLog::note(const std::string& address, const std::string& why, Instant now) {
  count(address, now);
  const std::string who = address + ": it " + why;
  if (named_.size() == kNamedConnections || named_.contains(who) || by_reason_[why] == kNamedOfReason) {
    return {};
  }
  named_.insert(who);
  const bool is_last = ++by_reason_[why] == kNamedOfReason || named_.size() == kNamedConnections;
  return "refused a connection from " + who + (is_last ? "; further ones are counted" : "");
}

void RejectedConnectionLog::count(const std::string& address, Instant now) {
  if (!until_) {
    since_ = now;
    until_ = now + span_;
  }
  ++refused_;
  if (by_address_.size() < kMostAddresses || by_address_.contains(address)) {
    ++by_address_[address];
  }
}

std::string RejectedConnectionLog::summary(Instant now) {
  std::string text = refused_ < kLeastCounted ? std::string() : describe(now);
  span_ = text.empty() ? kFirstSpan : std::min(2 * span_, kLongestSpan);
  until_.reset();
  refused_ = 0;
  by_address_.clear();
  return text;
}

std::string RejectedConnectionLog::describe(Instant now) const {
  const auto most = std::max_element(by_address_.begin(), by_address_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::size_t addresses = by_address_.size();
  return "refused " + with_commas(refused_) + " connections from " + (addresses == kMostAddresses ? "at least " : "") +
         with_commas(addresses) +
         (addresses == 1 ? " address (" + most->first
                         : " addresses (" + with_commas(most->second) + " of them from " + most->first) +
         ") in " + whole_seconds(now - since_);
}

}  // namespace muster::gang
