// Nodes that come while an attempt runs: whether the job starts again for them, and when.
#include "gang/protocol/leader.hpp"

#include "base/text.hpp"

#include <csignal>
#include <set>

namespace muster::gang {

/// The job starts again where nodes come for which it has room. Not once a rank has ended with 0: what it did would be
/// done twice. Where workers are counted there is never room for more.
bool Leader::can_scale_up() const {
  return policy_.options.scale_up == ScaleUp::Now &&
         policy_.job.least_nodes < policy_.job.most_nodes && !policy_.job.total_slots &&
         !early_exit_.has_anybody_ended();
}

/// Another attempt may follow.
bool Leader::can_start_again() const {
  return policy_.options.restarts.max_restarts > 0 || can_scale_up();
}

/// Spares that would find a seat if the job started again now.
std::vector<LinkId> Leader::newcomers() const {
  std::vector<LinkId> found;
  std::set<int> wanted;
  const auto room = static_cast<std::size_t>(roster_.seats() - roster_.seated());
  for (const LinkId link : roster_.spares()) {
    const auto& rank = roster_.find(link)->join.node.rank;
    const bool has_seat =
        !rank || (!roster_.holder(rank->value) && wanted.insert(rank->value).second);
    if (roster_.is_ready(link) && has_seat && found.size() < room) {
      found.push_back(link);
    }
  }
  return found;
}

/// Several that come one after the other are one restart: those that have come wait for a last call, unless with them
/// all are here.
void Leader::note_newcomers(Instant now) {
  if (state_ != State::Running || !can_scale_up()) {
    newcomers_call_.cancel();
    return;
  }
  const auto count = static_cast<int>(newcomers().size());
  newcomers_call_.note(count > 0, roster_.seated() + count < roster_.seats(), now);
}

/// The workers are asked to end as after a failure, but nothing has failed.
void Leader::scale_up(Instant now) {
  const std::vector<LinkId> joining = newcomers();
  const std::string reason = joining.size() == 1
                                 ? describe(*roster_.find(joining.front())) + " joins the job"
                                 : count_of(joining.size(), "node") + " join the job";
  attempt_.note_ending(
      reason, recorded(make_end(EndKind::SystemRefused, reason + ", and it cannot start again")));
  attempt_.note_scaling_up();
  stop_nodes(SIGTERM, now);
}

}  // namespace muster::gang
