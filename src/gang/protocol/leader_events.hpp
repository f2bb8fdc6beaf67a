#pragma once

// Events that the leader is told, and the actions that it answers with.

#include "base/log.hpp"
#include "gang/gang_config.hpp"
#include "gang/protocol/messages.hpp"
#include "gang/protocol/roster.hpp"
#include "gang/protocol/standstill.hpp"

#include <set>
#include <string>
#include <variant>
#include <vector>

namespace muster::gang {

// Events.

/// An agent joins. `peer` and `local` are the numeric addresses of the two ends of its link.
struct Joined {
  LinkId link = kOwnLink;
  std::string peer;
  std::string local;
  Join join;
};
struct Received {
  LinkId link = kOwnLink;
  Message message;
};
/// The link is gone. `why` follows the agent's name: "closed the connection".
struct LinkLost {
  LinkId link = kOwnLink;
  std::string why;
};
/// A peer without the job's token connected, perhaps one of its nodes. `why` follows its address.
struct AuthFailed {
  std::string peer;
  std::string why;
};
/// The answer to ReservePort. With an error the job cannot start.
struct PortReserved {
  AttemptPorts offer;
  std::string error;
};
/// The answer to LookUpHosts: the names that do not resolve.
struct HostsLookedUp {
  std::set<std::string> unresolved;
};
/// The moment of `next_wake` has come.
struct Tick {};

using LeaderEvent = std::variant<Joined, Received, LinkLost, AuthFailed, PortReserved, HostsLookedUp, StoodStill, Tick>;

// Actions.

struct SendTo {
  std::vector<LinkId> links;
  Message message;
};
/// Close the link once everything is sent. Its loss is not reported any more.
struct Drop {
  LinkId link = kOwnLink;
};
/// Reserve ports for the workers of the next attempt, and release the earlier ones.
struct ReservePort {};
/// Resolve these names; HostsLookedUp answers.
struct LookUpHosts {
  std::vector<std::string> names;
};
/// Keep a suspect node for later jobs (--bad-nodes).
struct KeepBadNode {
  std::string machine;
  std::string reason;
};
/// All nodes know the end and have left.
struct GangClosed {};

using LeaderAction = std::variant<SendTo, Drop, ReservePort, LookUpHosts, LogLine, KeepBadNode, GangClosed>;
using LeaderActions = std::vector<LeaderAction>;

}  // namespace muster::gang
