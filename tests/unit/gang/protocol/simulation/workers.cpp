// Workers, and what strikes hosts.
#include "gang/all_parts.hpp"
#include "gang/protocol/simulation/world.hpp"

#include <csignal>

namespace muster::gang::simulation {

namespace {

constexpr std::size_t kFirstPort = 5'000;        // of host 0
constexpr std::size_t kBetweenChanges = 10'000;  // more than there are hosts

std::size_t host_of(const std::string& port) {
  return std::stoul(port) % kBetweenChanges - kFirstPort;
}

}  // namespace

std::string World::port_of(std::size_t index) const {
  const bool has_one = scenario_.has_ports && index % 2 == 1;
  const std::size_t changes = hosts_[index].port_changes * kBetweenChanges;
  return has_one ? std::to_string(kFirstPort + index + changes) : "";
}

/// Changes, at random, the port that a host contributes to the next attempt.
void World::may_change_port(std::size_t index, int life) {
  if (!port_of(index).empty() && hosts_[index].life == life && chance(0.3)) {
    ++hosts_[index].port_changes;
    tell_agent(index, life, Contributed{kPortsKey, port_of(index), {}});
  }
}

/// Every node is told the ports of those who take part, its own at its place, and none of another
/// attempt.
void World::check_ports(std::size_t index, const Start& start, const Exchanged& merged) {
  const auto found = merged.find(kPortsKey);
  const auto ports = found == merged.end() ? std::vector<std::string>() : read_parts(found->second).value();
  std::set<std::string> seen;
  for (const std::string& port : ports) {
    // An agent that came back before the loss of its former self or link was noticed is there twice.
    const bool is_new = port.empty() || seen.insert(port).second;
    if (!is_new && hosts_[host_of(port)].joins == 1) {
      violate("two nodes have the port " + port);
    }
  }
  const auto rank = static_cast<std::size_t>(start.placement.node_rank.value);
  const bool is_whole = ports.size() == static_cast<std::size_t>(start.placement.nodes);
  const bool is_own = is_whole && ports[rank] == port_of(index);
  if (ports.empty() ? !port_of(index).empty() : !is_own) {
    violate(name(index) + " is told wrong ports in attempt " + std::to_string(start.placement.attempt));
  }
  for (const std::size_t other : alive_) {
    const Group& group = groups_[other];
    if (group.generation == generation_ && group.start.placement.attempt == start.placement.attempt &&
        group.merged != merged) {
      violate(name(index) + " is told other ports than " + name(static_cast<std::size_t>(group.host)));
    }
  }
}

void World::start_group(std::size_t index, const Start& start, const Exchanged& merged) {
  for (const std::size_t other : alive_) {
    const Group& group = groups_[other];
    const bool is_older = group.generation == generation_ && group.start.placement.attempt < start.placement.attempt;
    if (is_older || static_cast<std::size_t>(group.host) == index) {
      violate("attempt " + std::to_string(start.placement.attempt) + " starts on " + name(index) + " while attempt " +
              std::to_string(group.start.placement.attempt) + " is alive on " +
              name(static_cast<std::size_t>(group.host)));
    }
    if (!is_older && static_cast<std::size_t>(group.host) != index) {
      break;  // they are in the order of their start
    }
  }
  if (!hosts_[index].is_ready) {
    violate(name(index) + " starts workers and is not ready");
  }
  check_ports(index, start, merged);
  const std::size_t id = groups_.size();
  Group& group = groups_.emplace_back();
  group.host = static_cast<int>(index);
  group.life = hosts_[index].life;
  group.generation = generation_;
  group.start = start;
  group.merged = merged;
  hosts_[index].group = id;
  alive_.insert(id);
  start_fences(id);
  if (chance(scenario_.failures)) {
    at(now_ + up_to(attempt_ends_), [=, this] { fail(id); });
  }
  const Instant first = now_ + attempt_ends_ + up_to(scenario_.skew);
  at(first, [=, this] { succeed(id, /*is_last=*/false); });
  at(first + up_to(scenario_.skew), [=, this] { succeed(id, /*is_last=*/true); });
}

void World::fail(std::size_t id) {
  Group& group = groups_[id];
  if (!group.is_alive || group.is_ending) {
    return;
  }
  Failure failure = failure_of(group.start.placement.slots_before);
  failure.node = group.start.placement.node_rank;
  failure.status = chance(0.3) ? ExitStatus::signalled(SIGSEGV) : ExitStatus::exited(static_cast<int>(pick(1, 3)));
  failure.exit_code = failure.status->shell_code();
  if (chance(0.3)) {
    failure.last_lines = {"Connection reset by peer"};
  }
  group.failure = failure;
  log(name(static_cast<std::size_t>(group.host)), "'s worker fails");
  tell_agent(static_cast<std::size_t>(group.host), group.life, failure);
  stop_group(id, scenario_.grace);
}

void World::succeed(std::size_t id, bool is_last) {
  Group& group = groups_[id];
  group.has_worked |= is_last;
  if (!group.is_alive || group.is_ending || (is_last && !group.rounds_left.empty())) {
    return;
  }
  Succeeded succeeded = success_of(group.start.placement.slots_before);
  succeeded.is_last = is_last;
  group.has_succeeded = is_last;
  log(name(static_cast<std::size_t>(group.host)), is_last ? " has succeeded" : "'s worker succeeds");
  tell_agent(static_cast<std::size_t>(group.host), group.life, succeeded);
  if (is_last) {
    stop_group(id, milliseconds(100));
  }
}

void World::stop_group(std::size_t id, milliseconds grace) {
  Group& group = groups_[id];
  if (!group.is_alive || group.cannot_be_killed) {
    return;
  }
  const milliseconds obeys = chance(scenario_.stubborn) ? grace : up_to(std::min<milliseconds>(grace, seconds(2)));
  const Instant end = now_ + std::min(grace, obeys) + up_to(kKilling);
  if (group.is_ending && group.ends_at <= end) {
    return;
  }
  group.is_ending = true;
  group.ends_at = end;
  at(end, [this, id, end] {
    if (groups_[id].is_alive && groups_[id].ends_at == end) {
      end_group(id);
    }
  });
}

void World::end_group(std::size_t id) {
  Group& group = groups_[id];
  const auto index = static_cast<std::size_t>(group.host);
  group.cannot_be_killed = !group.has_succeeded && chance(scenario_.unkillable);
  if (group.cannot_be_killed) {
    log(name(index), " gives up: a process cannot be killed");
  } else {
    group.is_alive = false;
    alive_.erase(id);
    log(name(index), "'s workers have ended");
  }
  // A console that nobody reads may keep an agent from saying so.
  const bool is_stalled = !group.cannot_be_killed && chance(scenario_.stalls);
  hosts_[index].is_running_normally &= !is_stalled;
  at(now_ + (is_stalled ? up_to(seconds(200)) : milliseconds(0)), [this, id] { report_end(id); });
}

void World::report_end(std::size_t id) {
  const Group& group = groups_[id];
  const auto progress = chance(0.3) ? std::optional(chance(0.7)) : std::nullopt;
  const auto host = static_cast<std::size_t>(group.host);
  if (hosts_[host].life == group.life && hosts_[host].is_ready) {  // they may have to come anew
    tell_agent(host, group.life, InputsChanged{wait_for_inputs(host)});
  }
  may_change_port(host, group.life);
  tell_agent(host, group.life, AttemptOver{0, group.failure, progress, group.cannot_be_killed});
}

void World::strike(const Fault& fault) {
  const auto index = static_cast<std::size_t>(fault.host);
  Host& host = hosts_[index];
  log(name(index), " is struck by fault ", std::to_string(static_cast<int>(fault.kind)));
  host.is_running_normally = false;
  switch (fault.kind) {
    case Fault::Kind::Crash:
      crash(index);
      come_back(fault);
      break;
    case Fault::Kind::KillAgent:
      if (host.is_running && host.group) {
        stop_group(*host.group, up_to(kGuard));
      }
      end_process(index);
      come_back(fault);
      break;
    case Fault::Kind::CutOff:
    case Fault::Kind::CutFrom:
    case Fault::Kind::CutTo:
      host.is_cut_from |= fault.kind != Fault::Kind::CutTo;
      host.is_cut_to |= fault.kind != Fault::Kind::CutFrom;
      at(now_ + fault.lasts, [this, index] { mend(index); });
      break;
    case Fault::Kind::Reset:
      if (host.link != kOwnLink && host.is_running) {
        send(host.link, Direction::ToLeader, Closed{});
        send(host.link, Direction::ToAgent, Closed{});
      }
      break;
    case Fault::Kind::Sleep:
      if (!std::exchange(host.has_slept, true)) {
        host.asleep_until = now_ + fault.lasts;
      }
      break;
    case Fault::Kind::Signal:
      tell_agent(index, host.life, StopSignal{SIGTERM});
      break;
    case Fault::Kind::GuardGone:
      tell_agent(index, host.life, GuardGone{});
      break;
  }
}

void World::crash(std::size_t index) {
  Host& host = hosts_[index];
  host.has_power = false;
  for (const std::size_t id : std::vector<std::size_t>(alive_.begin(), alive_.end())) {
    if (static_cast<std::size_t>(groups_[id].host) == index) {
      groups_[id].is_alive = false;
      alive_.erase(id);
    }
  }
  if (host.is_running) {
    forget_process(host);
  }
}

void World::come_back(const Fault& fault) {
  if (!fault.returns_after) {
    return;
  }
  at(now_ + *fault.returns_after, [this, index = static_cast<std::size_t>(fault.host)] {
    log(name(index), " is back");
    hosts_[index].has_power = true;
    start_agent(index);
  });
}

void World::mend(std::size_t index) {
  log(name(index), " is connected again");
  hosts_[index].is_cut_from = false;
  hosts_[index].is_cut_to = false;
  flush(index);
}

}  // namespace muster::gang::simulation
