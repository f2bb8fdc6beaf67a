// Takes from a node only what concerns its own ranks.
#include "gang/protocol/own_ranks.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

bool OwnRanks::is_of(LinkId link, GlobalRank rank) {
  const auto& ranks = gang_.roster.find(link)->ranks;
  const bool is_own = link == kOwnLink || !ranks || std::ranges::binary_search(*ranks, rank.value);
  if (!is_own) {
    warn_of_foreign_rank(link, "rank " + to_string(rank) + ", which is not on this node");
  }
  return is_own;
}

bool OwnRanks::is_watcher(LinkId link) {
  const bool is_first = gang_.roster.find(link)->node_rank == NodeRank{0};
  if (!is_first) {
    warn_of_foreign_rank(link, "a hang, which only node 0 may do");
  }
  return is_first;
}

void OwnRanks::warn_of_foreign_rank(LinkId link, const std::string& whom) {
  Member& member = *gang_.roster.find(link);
  if (!std::exchange(member.names_others, true)) {
    gang_.say(Level::Warning, describe(member) + " reports " + whom + "; ignoring this report");
  }
}

std::optional<Failure> OwnRanks::own_failure(LinkId link, Failure failure) {
  const Member& member = *gang_.roster.find(link);
  if (failure.service.empty() && !is_of(link, failure.global_rank)) {
    return std::nullopt;
  }
  if (link != kOwnLink) {
    failure.node = *member.node_rank;
    failure.host = member.join.node.host;
  }
  return failure;
}

OtherFailures OwnRanks::own_failures(LinkId link, const OtherFailures& failures) {
  OtherFailures own{{}, failures.count - static_cast<int>(failures.listed.size())};
  for (const Failure& failure : failures.listed) {
    if (auto taken = own_failure(link, failure)) {
      own.listed.push_back(std::move(*taken));
      ++own.count;
    }
  }
  return own;
}

bool OwnRanks::may_announce(LinkId link, Instant now) {
  constexpr int kMostAnnounced = 100;
  constexpr std::chrono::seconds kPeriod{60};
  Member& member = *gang_.roster.find(link);
  if (now - member.announced_since >= kPeriod) {
    member.announced = 0;
    member.announced_since = now;
  }
  if (++member.announced == kMostAnnounced + 1) {
    gang_.say(Level::Warning, describe(member) + " has sent " + std::to_string(kMostAnnounced) +
                                  " lines for all nodes within a minute; leaving out more");
  }
  return member.announced <= kMostAnnounced;
}

}  // namespace muster::gang
