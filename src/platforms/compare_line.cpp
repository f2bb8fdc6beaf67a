// Compares the line's count, rank and leader with the platform's. The line wins, because it may describe a part of
// the platform's job or number its nodes otherwise; but a rank that a batch script has expanded once for all nodes,
// or a line that nobody starts on the others, would only be seen as nodes that never come.
#include "platforms/compare_line.hpp"

#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "platforms/defaults.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/slots.hpp"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

using Notices = std::vector<std::string>;

/// "A is 'x' but B is 'y': <remark>", as a notice.
std::string difference(const Sourced<std::string>& line, const Sourced<std::string>& known, const std::string& remark) {
  return contradiction(line, known, remark).message;
}

int least_of(const PlatformFacts& facts) {
  return facts.least_nodes.value_or(facts.nodes->value);
}

/// True if some number of nodes is possible for both.
bool is_same_size(const PlatformFacts& known, const PlatformFacts& facts) {
  return known.nodes && least_of(known) <= facts.nodes->value && least_of(facts) <= known.nodes->value;
}

/// Adds a notice if a batch system runs this line on one host only: the other nodes would never come.
void add_placement(Notices& notices, const PlatformFacts& known, const ClusterRequest& request) {
  const auto& why = known.no_nodes ? known.no_nodes : known.no_rank;
  const bool is_by_hand = known.may_be_by_hand && request.node_rank;
  if (known.runs_alone && why && !is_by_hand) {
    const bool has_rank = !known.start_by.empty() && request.node_rank;
    notices.push_back(with_advice(why->message, known, request.names) +
                      (has_rank ? ", without " + request.node_rank->source.name : ""));
  }
}

/// Adds a notice on different numbers of nodes. A platform's step of one node gets none: several may make one job.
void add_count(Notices& notices, const PlatformFacts& known, const PlatformFacts& facts,
               const ClusterRequest& request) {
  if (!request.nodes || !known.nodes || known.processes || known.nodes->value == 1 || is_same_size(known, facts)) {
    return;
  }
  const bool is_more = known.nodes->value > facts.nodes->value;
  notices.push_back(difference(nodes_as_written(facts), nodes_as_written(known),
                               is_more ? "right only if this line is not started on all of them"
                                       : "right only if others are started elsewhere"));
}

/// True if the line gives this node another rank than the platform, although both describe the same nodes: they have
/// the same number, or the platform knows only its index, which the line's number of nodes allows.
bool is_renumbered(const PlatformFacts& known, const PlatformFacts& facts, const ClusterRequest& request) {
  if (!request.node_rank || !facts.node_rank || !known.node_rank) {
    return false;
  }
  const bool may_be_same = !known.nodes && known.node_rank->value < facts.nodes->value;
  return (may_be_same || is_same_size(known, facts)) && facts.node_rank->value != known.node_rank->value;
}

/// The platform's rank as its variable says it: a number, or this host's name.
Sourced<std::string> rank_as_written(const PlatformFacts& known, const Snapshot& snapshot) {
  return sourced_variable(snapshot, known.node_rank->source.name).value_or(as_text(*known.node_rank));
}

void add_rank(Notices& notices, const PlatformFacts& known, const PlatformFacts& facts,
              const ReplacedPlatform& replaced) {
  if (is_renumbered(known, facts, replaced.request)) {
    notices.push_back(difference(as_text(*facts.node_rank), rank_as_written(known, replaced.snapshot),
                                 "right only if all nodes are numbered otherwise; a variable in a batch script has one "
                                 "value for all of them"));
  }
}

/// The position of a host in a list of different hosts.
std::optional<int> position_in(const std::vector<std::string>& hosts, const std::string& host) {
  return only_position(hosts,
                       [&](const std::string& one) { return is_same_name(one, host) || is_same_address(one, host); });
}

/// Fails if the leader's address is another host of the list, and if a follower has the leader's address.
Result<> check_leader(const PlatformFacts& known, const PlatformFacts& facts, const ReplacedPlatform& replaced) {
  const auto& address = replaced.request.master_address;
  if (!address || !known.hosts || !known.node_rank || !facts.node_rank || !is_same_size(known, facts)) {
    return {};
  }
  const auto place = position_in(known.hosts->value, address->value);
  const bool leads = facts.node_rank->value == 0;
  const bool is_there = place == known.node_rank->value;
  if (!place || leads == is_there || is_this_host(address->value, replaced.snapshot) != is_there) {
    return {};
  }
  const std::string why = leads ? "node 0 leads at that address, and this node is not there"
                                : "node 0 leads at that address, which is this node's own";
  const bool is_given = replaced.request.node_rank.has_value();
  const auto by = rank_as_written(known, replaced.snapshot);
  return contradiction(*address, as_text(*facts.node_rank),
                       is_given ? why + " (" + by.source.name + " is '" + by.value + "')" : why);
}

/// The leader's address is on a host of the platform's job where none of these nodes is.
void add_leader_outside(Notices& notices, const PlatformFacts& known, const PlatformFacts& facts,
                        const ClusterRequest& request) {
  const auto& address = request.master_address;
  const bool is_whole = known.hosts && known.nodes && known.nodes->value > 1 && is_same_size(known, facts);
  if (address && is_whole && position_in(known.hosts_elsewhere, address->value)) {
    notices.push_back(difference(*address, {shortened(join(known.hosts->value, ",")), known.hosts->source},
                                 "a host of the job, but of another step; right only if node 0 is started there"));
  }
}

/// The user's own list of hosts starts the nodes, and has numbered them.
bool is_by_list_of_hosts(const ClusterRequest& request) {
  return request.platform && request.nodes && request.platform->source == request.nodes->source;
}

}  // namespace

Result<std::vector<std::string>> compare_with_platform(const ReplacedPlatform& replaced, const PlatformFacts& facts) {
  const ClusterRequest& request = replaced.request;
  Notices notices;
  if (facts.nodes->value == 1 || is_by_list_of_hosts(request)) {
    return notices;
  }
  if (!replaced.known) {
    notices.push_back(replaced.known.error().message + "; so muster does not compare the command line with what " +
                      replaced.platform.name + " knows about this node");
    return notices;
  }
  const PlatformFacts& known = *replaced.known;
  TRY(check_leader(known, facts, replaced));
  add_placement(notices, known, request);
  add_leader_outside(notices, known, facts, request);
  add_count(notices, known, facts, request);
  add_rank(notices, known, facts, replaced);
  return notices;
}

std::optional<Sourced<std::vector<std::string>>> hosts_that_fit(const ReplacedPlatform& replaced,
                                                                const PlatformFacts& facts) {
  if (!replaced.known || facts.hosts || !facts.nodes || !facts.node_rank || !facts.master_address) {
    return std::nullopt;
  }
  const PlatformFacts& known = *replaced.known;
  const bool fits = known.hosts && known.node_rank && known.node_rank->value == facts.node_rank->value &&
                    static_cast<int>(known.hosts->value.size()) == facts.nodes->value;
  return fits && position_in(known.hosts->value, facts.master_address->value) == 0 ? known.hosts : std::nullopt;
}

}  // namespace muster
