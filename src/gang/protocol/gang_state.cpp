// Implements what the leader's machines share.
#include "gang/protocol/gang_state.hpp"

#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <utility>

namespace muster::gang {

GangState::GangState(GangConfig given, Instant now)
    : config(std::move(given)),
      roster(config.job.most_nodes),
      exchange(config.keys),
      early_exit(config.options),
      restart_decider(config.options.restarts),
      fence(config.options.heartbeat_timeout, now),
      node_failures(config.options.node_failures, config.bad_nodes) {
  config.job = normalized(std::move(config.job));
}

void GangState::send(LinkId link, Message message) {
  actions.emplace_back(SendTo{{link}, std::move(message)});
}

void GangState::send(std::vector<LinkId> links, Message message) {
  if (!links.empty()) {
    actions.emplace_back(SendTo{std::move(links), std::move(message)});
  }
}

void GangState::drop(LinkId link) {
  actions.emplace_back(Drop{link});
}

void GangState::say(Level level, std::string text) {
  actions.emplace_back(LogLine{level, std::move(text)});
}

JobEnd GangState::recorded(JobEnd given) const {
  given.attempt = attempt.number();
  given.gang = record;
  return given;
}

JobEnd GangState::end_of(const Error& why) {
  switch (why.kind) {
    case ErrorKind::BadData:
      return make_end(EndKind::BadInput, why.message);
    case ErrorKind::Incomplete:
      return make_end(EndKind::Incomplete, why.message);
    default:
      return make_end(EndKind::SystemRefused, "the nodes cannot exchange values: " + why.message);
  }
}

JobEnd GangState::end_of(const Failure& failure) const {
  JobEnd found = end_by_failure(failure);
  found.rank_zero_had_ended =
      early_exit.has_rank_zero_ended() && failure.service.empty() && failure.global_rank.value != 0;
  return found;
}

void GangState::note_node_failure(NodeRank rank, const NodeName& name, std::string reason) {
  const bool is_new = node_failures.note(rank, name, std::move(reason));
  record.suspects = node_failures.suspects();
  if (is_new) {
    send(roster.links(), Announce{describe_node(rank, name.host) + " is suspect: " + node_failures.describe(name)});
    keep_bad_node(rank, name);
  }
}

std::string GangState::describe_listed(NodeRank rank, const NodeName& name) const {
  const BadNode* const bad = node_failures.find_listed(name);
  return bad == nullptr
             ? ""
             : describe_node(rank, name.host) + " is listed in '" + config.options.bad_nodes + "'" +
                   (bad->until.empty() ? "" : " until " + bad->until) + (bad->reason.empty() ? "" : ": " + bad->reason);
}

void GangState::keep_bad_node(NodeRank rank, const NodeName& name) {
  if (config.options.bad_nodes.empty()) {
    return;
  }
  if (name.machine.empty()) {
    say(Level::Warning, describe_node(rank, name.host) + " is not written to '" + config.options.bad_nodes +
                            "': the name of its machine is not known");
  } else {
    actions.emplace_back(KeepBadNode{name.machine, join(node_failures.find(name)->reasons, " and ")});
  }
}

std::string GangState::describe_nodes() const {
  const bool is_range = config.job.least_nodes != config.job.most_nodes;
  return (is_range ? std::to_string(config.job.least_nodes) + " to " : std::string()) +
         count_of(static_cast<std::size_t>(config.job.most_nodes), "node");
}

std::string GangState::describe_size() const {
  return config.job.total_slots ? count_of(static_cast<std::size_t>(*config.job.total_slots), "worker")
                                : describe_nodes();
}

bool GangState::can_scale_up() const {
  return config.options.scale_up == ScaleUp::Now && config.job.least_nodes < config.job.most_nodes &&
         !config.job.total_slots && !early_exit.has_any_ended();
}

bool GangState::can_start_again() const {
  return config.options.restarts.max_restarts > 0 || can_scale_up();
}

std::string GangState::workers_address(const std::vector<LinkId>& nodes) const {
  if (nodes.size() == 1 && config.job.most_nodes > 1) {
    return "127.0.0.1";  // the others never came: the configured host may lead nowhere
  }
  std::string address;
  for (const LinkId link : nodes) {
    const Member* const member = roster.find(link);
    if (member == nullptr) {
      continue;
    }
    if (!member->local.empty() && !is_loopback(member->local)) {
      return member->local;
    }
    address = address.empty() ? member->local : address;
  }
  return address.empty() ? config.host : address;
}

std::vector<ExchangeNode> GangState::exchange_nodes(const std::vector<LinkId>& nodes) const {
  const std::string here = workers_address(nodes);
  std::vector<ExchangeNode> known;
  for (const LinkId link : nodes) {
    const Member* const member = roster.find(link);
    const std::string peer = member == nullptr ? "" : member->peer;
    const bool is_here = member != nullptr && (peer.empty() || is_loopback(peer));
    known.push_back({link, is_here ? here : peer});
  }
  return known;
}

}  // namespace muster::gang
