// The numbers of refused connections: see the header.
#include "gang/protocol/refused_links.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster::gang {
namespace {

using std::chrono::seconds;

/// So many are named for each reason, and in all.
constexpr std::size_t kNamedOfReason = 5;
constexpr std::size_t kNamed = 50;
/// In a span; fewer are not worth a line.
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

std::string RejectedConnectionLog::note(const std::string& address,
                                        const std::string& why,
                                        Instant now) {
  count(address, now);
  const std::string who = address + ": it " + why;
  if (named_.size() == kNamed || named_.contains(who) || by_reason_[why] == kNamedOfReason) {
    return {};
  }
  named_.insert(who);
  const bool is_last = ++by_reason_[why] == kNamedOfReason || named_.size() == kNamed;
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
  const auto most =
      std::max_element(by_address_.begin(), by_address_.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      });
  const std::size_t addresses = by_address_.size();
  return "refused " + with_commas(refused_) + " connections from " +
         (addresses == kMostAddresses ? "at least " : "") + with_commas(addresses) +
         (addresses == 1
              ? " address (" + most->first
              : " addresses (" + with_commas(most->second) + " of them from " + most->first) +
         ") in " + whole_seconds(now - since_);
}

}  // namespace muster::gang
