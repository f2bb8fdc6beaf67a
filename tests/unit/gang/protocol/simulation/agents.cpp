// Hosts and their agents: carries out what Participants and the Leader want.
#include "gang/all_parts.hpp"
#include "gang/protocol/simulation/world.hpp"

#include <csignal>

namespace muster::gang::simulation {
namespace {

constexpr std::size_t kMostPart = std::size_t{128} << 10U;
constexpr std::size_t kMostMerged = std::size_t{16} << 20U;

}  // namespace

void World::start_agent(std::size_t index) {
  Host& host = hosts_[index];
  if (host.is_running || !host.has_power) {
    return;
  }
  log(name(index), " starts an agent");
  host.is_running = true;
  host.has_left = false;
  host.end.reset();
  host.gang.reset();
  host.group.reset();
  host.asleep_until = now_;
  GangConfig config = job_policy();
  config.seed = random_();
  config.host = "host-0";
  config.node.host = "host-" + std::to_string(index);
  config.node.slots = scenario_.slots.empty() ? static_cast<int>(pick(1, 3)) : scenario_.slots.at(index);
  config.waits_for = wait_for_inputs(index);
  if (static_cast<int>(index) < scenario_.ranked) {
    config.node.rank = NodeRank{static_cast<int>(index)};
  }
  host.agent = std::make_unique<Participant>(std::move(config), now_);
  if (const std::string port = port_of(index); !port.empty()) {
    carry_out(index, host.agent->on(Contributed{kPortsKey, port, {}}, now_));
  }
  carry_out(index, host.agent->start());
}

GangConfig World::job_policy() const {
  GangConfig config = scenario_.config;
  config.keys = {{kPortsKey, Phase::BeforeStart, 10, std::size_t{1} << 20U, all_parts},
                 {kFenceKey, Phase::WhileRunning, kMostPart, kMostMerged, all_parts}};
  return config;
}

/// Some agents have no inputs yet. They get them later, all but a few.
std::string World::wait_for_inputs(std::size_t index) {
  Host& host = hosts_[index];
  host.is_ready = !chance(scenario_.late_inputs);
  if (host.is_ready) {
    return {};
  }
  if (!chance(scenario_.no_inputs)) {
    at(now_ + up_to(seconds(20)), [this, index, life = host.life] {
      if (hosts_[index].life == life) {
        may_change_port(index, life);
        hosts_[index].is_ready = true;
        tell_agent(index, life, InputsChanged{});
      }
    });
  } else if (chance(0.5)) {
    host.is_running_normally &= index == 0;  // it may leave alone
    at(now_ + up_to(seconds(40)), [this, index, life = host.life] {
      tell_agent(index, life, InputsFailed{EndKind::Incomplete, "waited in vain"});
    });
  }
  return "its rank table";
}

/// The agent's process is gone. Its kernel closes its links.
void World::end_process(std::size_t index) {
  Host& host = hosts_[index];
  if (!host.is_running) {
    return;
  }
  for (LinkId link = 1; link < connections_.size(); ++link) {
    Connection& connection = connections_[link];
    if (index == 0 && connection.leader_life == host.life) {
      close(link, Direction::ToAgent);
    }
    if (static_cast<std::size_t>(connection.host) == index && connection.agent_life == host.life) {
      close(link, Direction::ToLeader);
    }
  }
  forget_process(host);
}

void World::forget_process(Host& host) {
  host.is_running = false;
  ++host.life;
  host.agent.reset();
  host.leader.reset();
  host.is_dissolved = false;
  host.agent_wake.reset();
  host.leader_wake.reset();
}

void World::tell_agent(std::size_t index, int life, const ParticipantEvent& event) {
  Host& host = hosts_[index];
  if (!host.is_running || host.life != life) {
    return;
  }
  if (now_ < host.asleep_until) {
    at(host.asleep_until, [=, this] { tell_agent(index, life, event); });
    return;
  }
  carry_out(index, host.agent->on(event, now_));
}

void World::tell_leader(int life, const LeaderEvent& event) {
  Host& host = hosts_[0];
  if (!host.leader || host.life != life) {
    return;
  }
  if (now_ < host.asleep_until) {
    at(host.asleep_until, [=, this] { tell_leader(life, event); });
    return;
  }
  if (const auto* const arrived = std::get_if<Joined>(&event)) {
    slots_[arrived->link] = arrived->join.node.slots;
  }
  note_failure(event);
  check_starts(host.leader->on(event, now_));
}

/// Those of an attempt that the leader hears of, the first one first.
void World::note_failure(const LeaderEvent& event) {
  const auto* const received = std::get_if<Received>(&event);
  if (received == nullptr) {
    return;
  }
  if (const auto* const failed = std::get_if<Failed>(&received->message)) {
    failures_[{generation_, failed->attempt}].push_back(failed->failure);
  }
  const auto* const ended = std::get_if<AttemptOver>(&received->message);
  if (ended != nullptr && ended->failure) {
    failures_[{generation_, ended->attempt}].push_back(*ended->failure);
  }
}

void World::carry_out(std::size_t index, const ParticipantActions& actions) {
  Host& host = hosts_[index];
  const int life = host.life;
  for (const ParticipantAction& action : actions) {
    if (const auto words = keeps_log_ ? words_of(action) : "";
        !words.empty() && words != "tell beat" && words != "dial") {
      log(name(index), ": ", words);
    }
    std::visit([&](const auto& wanted) { act(index, wanted); }, action);
  }
  if (host.life != life || !host.is_running) {
    return;
  }
  const auto wake = host.agent->next_wake();
  if (wake && host.has_left) {
    violate(name(index) + " has left and still wants to be woken");
  }
  if (wake != host.agent_wake) {
    host.agent_wake = wake;
    if (wake) {
      at(*wake, [=, this] {
        if (hosts_[index].life == life && hosts_[index].agent_wake == wake) {
          hosts_[index].agent_wake.reset();
          tell_agent(index, life, Wake{});
        }
      });
    }
  }
}

void World::act(std::size_t index, const Dial& /*wanted*/) {
  const int life = hosts_[index].life;
  if (index == 0) {
    hosts_[0].leader = std::make_unique<Leader>(job_policy(), now_);
    ++generation_;
    at(now_, [=, this] { tell_agent(0, life, LinkUp{/*is_own=*/true}); });
    return;
  }
  at(now_ + 2 * latency(), [=, this] { connect(index, life); });
}

void World::connect(std::size_t index, int life) {
  Host& host = hosts_[index];
  const Host& leader = hosts_[0];
  if (!host.is_running || host.life != life) {
    return;
  }
  const bool is_cut = host.is_cut_from || host.is_cut_to || leader.is_cut_from || leader.is_cut_to;
  if (is_cut || !leader.has_power) {
    at(now_ + kDialLimit, [=, this] { tell_agent(index, life, DialFailed{"no answer from host-0:29500"}); });
    return;
  }
  if (!leader.leader) {
    tell_agent(index, life, DialFailed{"connection refused by host-0:29500"});
    return;
  }
  ++host.joins;
  host.link = connections_.size();
  Connection& made = connections_.emplace_back();
  made.host = static_cast<int>(index);
  made.agent_life = life;
  made.leader_life = leader.life;
  tell_agent(index, life, LinkUp{});
}

void World::act(std::size_t index, const SendToLeader& wanted) {
  const int life = hosts_[index].life;
  if (index != 0) {
    send(hosts_[index].link, Direction::ToLeader, wanted.message);
    return;
  }
  const auto* const join = std::get_if<Join>(&wanted.message);
  const LeaderEvent event =
      join != nullptr ? LeaderEvent(Joined{kOwnLink, "", "", *join}) : LeaderEvent(Received{kOwnLink, wanted.message});
  at(now_, [=, this] { tell_leader(life, event); });
}

void World::act(std::size_t index, const CloseLink& /*wanted*/) {
  if (index != 0) {
    close(hosts_[index].link, Direction::ToLeader);
  }
}

void World::act(std::size_t index, const StopAttempt& wanted) {
  const milliseconds grace = scenario_.grace;
  stop_group(*hosts_[index].group, std::min(grace, wanted.most_grace.value_or(grace)));
}

void World::act(std::size_t index, const PassSignal& /*wanted*/) {
  const std::size_t group = *hosts_[index].group;
  stop_group(group, ++groups_[group].signals == 1 ? scenario_.grace : milliseconds(0));
}

void World::act(std::size_t index, const KillAttempt& /*wanted*/) {
  stop_group(*hosts_[index].group, milliseconds(0));
}

void World::act(std::size_t index, const Leave& wanted) {
  Host& host = hosts_[index];
  host.end = wanted.end;
  host.has_left = true;
  if (host.group && groups_[*host.group].is_alive && !groups_[*host.group].cannot_be_killed) {
    violate(name(index) + " leaves, and its workers are alive");
  }
  const bool is_awaited = host.leader && !host.is_dissolved && host.leader->state() == Leader::State::Finishing;
  if (!is_awaited) {
    end_process(index);
  }
}

/// All starts of an attempt are decided in one go: ranks are contiguous, the leader is rank 0, and
/// the gang is complete.
void World::check_starts(const LeaderActions& actions) {
  std::vector<const SendTo*> starts;
  for (const LeaderAction& action : actions) {
    const auto* const sent = std::get_if<SendTo>(&action);
    if (sent != nullptr && std::holds_alternative<Start>(sent->message)) {
      starts.push_back(sent);
    }
  }
  if (!starts.empty()) {
    ++finding_.attempts;
    attempt_ends_ = scenario_.run_time / 2 + up_to(scenario_.run_time);
    const auto nodes = static_cast<int>(starts.size());
    plan_fences(std::get<Start>(starts.front()->message).placement.attempt, nodes);
    if (nodes < scenario_.config.job.least_nodes || nodes > scenario_.config.job.most_nodes) {
      violate("attempt starts with " + std::to_string(nodes) + " nodes");
    }
  }
  std::set<LinkId> links;
  int slots = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto& start = std::get<Start>(starts[i]->message);
    const LinkId link = starts[i]->links.at(0);
    if (starts[i]->links.size() != 1 || !links.insert(link).second || (i == 0) != (link == kOwnLink) ||
        start.placement.node_rank.value != static_cast<int>(i) ||
        start.placement.nodes != static_cast<int>(starts.size()) || start.placement.slots_before != slots) {
      violate("odd start: " + words_of(*starts[i]));
    }
    slots += slots_.at(link);
  }
  if (const auto& total = scenario_.config.job.total_slots; total && !starts.empty() && slots != *total) {
    violate("attempt starts with " + std::to_string(slots) + " workers");
  }
  for (const SendTo* const sent : starts) {
    if (std::get<Start>(sent->message).placement.slots_total != slots) {
      violate("wrong number of slots: " + words_of(*sent));
    }
  }
  carry_out(actions);
}

void World::carry_out(const LeaderActions& actions) {
  Host& host = hosts_[0];
  const int life = host.life;
  for (const LeaderAction& action : actions) {
    const auto* const sent = std::get_if<SendTo>(&action);
    const bool is_beat = sent != nullptr && std::holds_alternative<Heartbeat>(sent->message);
    if (keeps_log_ && !is_beat && !words_of(action).empty()) {
      log("leader: ", words_of(action));
    }
    std::visit([&](const auto& wanted) { act(wanted); }, action);
  }
  if (host.life != life || !host.leader) {
    return;
  }
  const auto wake = host.leader->next_wake();
  if (wake && host.leader->state() == Leader::State::Finished) {
    violate("the leader has finished and still wants to be woken");
  }
  if (wake != host.leader_wake) {
    host.leader_wake = wake;
    if (wake) {
      at(*wake, [=, this] {
        if (hosts_[0].life == life && hosts_[0].leader_wake == wake) {
          hosts_[0].leader_wake.reset();
          tell_leader(life, Tick{});
        }
      });
    }
  }
}

void World::act(const SendTo& wanted) {
  const int life = hosts_[0].life;
  for (const LinkId link : wanted.links) {
    finding_.messages += std::holds_alternative<Heartbeat>(wanted.message) ? 0 : 1;
    if (link == kOwnLink) {
      at(now_, [this, life, message = wanted.message] { receive(0, life, message); });
    } else {
      send(link, Direction::ToAgent, wanted.message);
    }
  }
}

void World::act(const Drop& wanted) {
  if (wanted.link != kOwnLink) {
    close(wanted.link, Direction::ToAgent);
  }
}

void World::act(const ReservePort& /*wanted*/) {
  const PortReserved answer{{4'711}, chance(scenario_.port_failures) ? "no port is free" : ""};
  at(now_ + up_to(scenario_.most_latency), [this, life = hosts_[0].life, answer] { tell_leader(life, answer); });
}

void World::act(const LookUpHosts& /*wanted*/) {
  at(now_ + up_to(seconds(1)), [this, life = hosts_[0].life] { tell_leader(life, HostsLookedUp{}); });
}

void World::act(const GangClosed& /*wanted*/) {
  hosts_[0].is_dissolved = true;
  if (hosts_[0].has_left) {
    end_process(0);
  }
}

void World::receive(std::size_t index, int life, const Message& message) {
  Host& host = hosts_[index];
  if (host.is_running && host.life == life && std::holds_alternative<Admitted>(message)) {
    host.gang = generation_;
  }
  if (host.is_running && host.life == life && std::holds_alternative<Refused>(message)) {
    host.gang.reset();  // the job started without it
  }
  tell_agent(index, life, FromLeader{message});
}

}  // namespace muster::gang::simulation
