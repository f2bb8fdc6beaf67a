// Collects what an agent says, and takes it out of the gang.
#include "gang/protocol/membership.hpp"

#include "base/endpoint.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <utility>

namespace muster::gang {

Membership::Membership(GangConfig given)
    : config(std::move(given)), leader(join_endpoint(config.host, std::to_string(config.port))) {
  config.job = normalized(std::move(config.job));
}

JobEnd Membership::in_this_attempt(JobEnd end) const {
  end.attempt = attempt;
  return end;
}

void Membership::send(Message message) {
  if (is_linked) {
    actions.emplace_back(SendToLeader{std::move(message)});
  }
}

void Membership::say(Level level, std::string text) {
  actions.emplace_back(LogLine{level, std::move(text)});
}

void Membership::leave(JobEnd end) {
  if (std::exchange(is_linked, false)) {
    actions.emplace_back(CloseLink{});
  }
  state = ParticipantState::Left;
  actions.emplace_back(Leave{std::move(end)});
}

}  // namespace muster::gang
