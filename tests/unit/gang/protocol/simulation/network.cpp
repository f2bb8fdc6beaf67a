// Links: ordered, slow, cut, closed.
#include "gang/protocol/simulation/world.hpp"

namespace muster::gang::simulation {

bool World::is_cut(const Connection& connection, Direction direction) const {
  const Host& agent = hosts_[static_cast<std::size_t>(connection.host)];
  return direction == Direction::ToLeader ? agent.is_cut_from || hosts_[0].is_cut_to
                                          : agent.is_cut_to || hosts_[0].is_cut_from;
}

void World::send(LinkId link, Direction direction, Packet packet) {
  Connection& connection = connections_[link];
  auto& held = connection.held[static_cast<int>(direction)];
  if (is_cut(connection, direction) || !held.empty()) {
    held.push_back(std::move(packet));
  } else {
    pass(link, direction, std::move(packet));
  }
}

void World::pass(LinkId link, Direction direction, Packet packet) {
  Instant& last = connections_[link].last[static_cast<int>(direction)];
  last = std::max(last, Instant(now_ + latency()));
  at(last, [this, link, direction, packet = std::move(packet)] {
    auto& held = connections_[link].held[static_cast<int>(direction)];
    if (is_cut(connections_[link], direction) || !held.empty()) {
      held.push_back(packet);
    } else {
      deliver(link, direction, packet);
    }
  });
}

/// Delivers the packets that were held back, some time after the network is whole again.
void World::flush(std::size_t index) {
  for (LinkId link = 1; link < connections_.size(); ++link) {
    if (index != 0 && static_cast<std::size_t>(connections_[link].host) != index) {
      continue;
    }
    for (const Direction direction : {Direction::ToLeader, Direction::ToAgent}) {
      at(now_ + up_to(seconds(3)), [=, this] {
        auto& held = connections_[link].held[static_cast<int>(direction)];
        if (is_cut(connections_[link], direction)) {
          return;
        }
        for (Packet& packet : std::exchange(held, {})) {
          pass(link, direction, std::move(packet));
        }
      });
    }
  }
}

void World::deliver(LinkId link, Direction direction, const Packet& packet) {
  Connection& connection = connections_[link];
  const bool is_to_leader = direction == Direction::ToLeader;
  const auto index = is_to_leader ? 0U : static_cast<std::size_t>(connection.host);
  const Host& host = hosts_[index];
  const int life = is_to_leader ? connection.leader_life : connection.agent_life;
  bool& is_open = is_to_leader ? connection.is_open_at_leader : connection.is_open_at_agent;
  if (!host.has_power) {
    return;
  }
  if (!is_open || host.life != life) {
    if (std::holds_alternative<Message>(packet)) {  // nobody is there: a reset
      send(link, is_to_leader ? Direction::ToAgent : Direction::ToLeader, Closed{});
    }
    return;
  }
  if (std::holds_alternative<Closed>(packet)) {
    is_open = false;
  }
  if (is_to_leader) {
    deliver_to_leader(link, packet);
  } else if (const auto* const message = std::get_if<Message>(&packet)) {
    receive(index, life, *message);
  } else {
    tell_agent(index, life, LinkDown{"closed the connection"});
  }
}

void World::deliver_to_leader(LinkId link, const Packet& packet) {
  Connection& connection = connections_[link];
  const auto* const message = std::get_if<Message>(&packet);
  if (!connection.has_joined && message != nullptr) {
    connection.has_joined = true;
    const std::string peer = "10.0.0." + std::to_string(connection.host);
    tell_leader(connection.leader_life, Joined{link, peer, "10.0.0.0", std::get<Join>(*message)});
  } else if (message != nullptr) {
    tell_leader(connection.leader_life, Received{link, *message});
  } else if (connection.has_joined) {
    tell_leader(connection.leader_life, LinkLost{link, "closed the connection"});
  }
}

/// One end closes the link; `direction` is where the news go.
void World::close(LinkId link, Direction direction) {
  Connection& connection = connections_[link];
  bool& is_open = direction == Direction::ToLeader ? connection.is_open_at_agent : connection.is_open_at_leader;
  if (link != kOwnLink && std::exchange(is_open, false)) {
    send(link, direction, Closed{});
  }
}

}  // namespace muster::gang::simulation
