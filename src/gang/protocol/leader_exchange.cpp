// What the leader does with the exchange: who is not ready for want of a contribution, who gets what, who
// is cut off.
#include "gang/protocol/leader.hpp"

#include <csignal>
#include <utility>

namespace muster::gang {
namespace {

JobEnd end_of_exchange(const Error& why) {
  switch (why.kind) {
    case ErrorKind::BadData:
      return make_end(EndKind::BadInput, why.message);
    case ErrorKind::Incomplete:
      return make_end(EndKind::Incomplete, why.message);
    default:
      return make_end(EndKind::SystemRefused, "the nodes cannot exchange values: " + why.message);
  }
}

}  // namespace

/// A node is ready when its inputs are there and what it contributes is here.
void Leader::note_readiness(LinkId link) {
  const std::string missing = exchange_.missing(link);
  const std::string& inputs = roster_.find(link)->join.waits_for;
  roster_.note_inputs(
      link,
      inputs.empty() && !missing.empty() ? "its " + missing + " to reach the leader" : inputs);
}

/// A spare that is ready may be needed.
void Leader::follow_readiness(LinkId link, Instant now) {
  note_readiness(link);
  if (!roster_.find(link)->seat) {
    if (state_ == State::RendezvousTimer) {
      seat_spares();
    }
    note_newcomers(now);
  }
  try_start(now);
}

void Leader::take(LinkId link, const Contribute& contribute, Instant now) {
  carry_out(exchange_.take(link, contribute), now);
  pending_for_.clear();
  if (roster_.find(link) != nullptr) {
    follow_readiness(link, now);
  }
}

/// What these nodes have does not fit together yet. Asked again when one of them contributes anew, or others
/// are to start.
bool Leader::holds_back(Instant now) {
  const std::vector<LinkId> nodes = roster_.in_order();
  const bool is_news = pending_.empty();  // what changes is said as the wait goes on
  pending_ = exchange_.pending(exchange_nodes(nodes));
  pending_for_ = nodes;
  rendezvous_timer_.note_pending(!pending_.empty(), now);
  if (!pending_.empty() && is_news) {
    say(Level::Info, pending_);
    std::vector<LinkId> others = nodes;
    std::erase(others, kOwnLink);
    send(std::move(others), Waiting{pending_});
  }
  return !pending_.empty();
}

void Leader::carry_out(const ExchangeOutcomes& outcomes, Instant now) {
  for (const ExchangeOutcome& outcome : outcomes) {
    std::visit([&](const auto& one) { carry_out(one, now); }, outcome);
  }
}

void Leader::carry_out(const HandOut& handout, Instant /*now*/) {
  for (const Merged& chunk : handout.chunks) {
    send(handout.links, chunk);
  }
}

void Leader::carry_out(const Violation& violation, Instant now) {
  if (violation.link == kOwnLink) {
    give_up_exchange({ErrorKind::System, violation.why}, now);
    return;
  }
  handle(LinkLost{violation.link, violation.why}, now);
  actions_.emplace_back(Drop{violation.link});
}

void Leader::carry_out(const MergeFailed& none, Instant now) {
  give_up_exchange(none.why, now);
}

/// Another attempt would contribute the same.
void Leader::give_up_exchange(const Error& why, Instant now) {
  JobEnd end = end_of_exchange(why);
  if (state_ == State::Running) {
    end_ = recorded(end);
    end_attempt(std::move(end), SIGTERM, now);
  } else if (state_ == State::RendezvousTimer) {
    conclude(std::move(end), now);
  }
}

}  // namespace muster::gang
