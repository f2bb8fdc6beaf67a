// Takes from a node only what concerns its own ranks.
#include "gang/protocol/leader.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

/// A node speaks of its own processes alone: the others' are healthy for all that it knows.
bool Leader::is_of(LinkId link, GlobalRank rank) {
  const auto& ranks = roster_.find(link)->ranks;
  const bool is_own = link == kOwnLink || !ranks || std::ranges::binary_search(*ranks, rank.value);
  if (!is_own) {
    reject_naming_others(link, "rank " + to_string(rank));
  }
  return is_own;
}

/// Node 0 watches the attempt for hangs.
bool Leader::is_watcher(LinkId link) {
  const bool is_first = roster_.find(link)->node_rank == NodeRank{0};
  if (!is_first) {
    reject_naming_others(link, "a hang");
  }
  return is_first;
}

void Leader::reject_naming_others(LinkId link, const std::string& whom) {
  Member& member = *roster_.find(link);
  if (!std::exchange(member.names_others, true)) {
    say(Level::Warning, describe(member) + " speaks of " + whom + ", which is not its own; leaving that out");
  }
}

std::optional<Failure> Leader::own_failure(LinkId link, Failure failure) {
  const Member& member = *roster_.find(link);
  if (failure.service.empty() && !is_of(link, failure.global_rank)) {
    return std::nullopt;
  }
  if (link != kOwnLink) {
    failure.node = *member.node_rank;
    failure.host = member.join.node.host;
  }
  return failure;
}

OtherFailures Leader::own_failures(LinkId link, const OtherFailures& failures) {
  OtherFailures own{{}, failures.count - static_cast<int>(failures.listed.size())};
  for (const Failure& failure : failures.listed) {
    if (auto taken = own_failure(link, failure)) {
      own.listed.push_back(std::move(*taken));
      ++own.count;
    }
  }
  return own;
}

}  // namespace muster::gang
