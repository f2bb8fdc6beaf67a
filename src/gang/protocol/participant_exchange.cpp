// An agent's part in the exchange: when it contributes, and what becomes of what it gets.
#include "gang/protocol/participant.hpp"

namespace muster::gang {

/// What belongs to the start is told to each leader; what belongs to an attempt, while it runs.
void Participant::handle(const Contributed& contributed, Instant /*now*/) {
  std::vector<Contribute> chunks;
  if (contributions_.is_before_start(contributed.key)) {
    chunks = contributions_.keep(contributed.key, contributed.bytes);
  } else if (state_ == State::Running) {
    chunks = contributions_.contribute(contributed.key, contributed.bytes, contributed.nodes);
  }
  for (Contribute& chunk : chunks) {
    send(std::move(chunk));
  }
}

void Participant::take(const Merged& merged, Instant now) {
  auto value = contributions_.take(merged);
  if (!value) {
    cut_off(value.error().message, now);
  } else if (*value && state_ == State::Running) {
    actions_.emplace_back(Deliver{std::move(**value)});
  }
}

}  // namespace muster::gang
