#pragma once

// Events that a participant is told, and the actions that it answers with.

#include "base/log.hpp"
#include "gang/events.hpp"
#include "gang/exchange_values.hpp"
#include "gang/protocol/messages.hpp"
#include "gang/protocol/standstill.hpp"

#include <string>
#include <variant>
#include <vector>

namespace muster::gang {

// Events.

struct LinkUp {
  bool is_own = false;  ///< this agent leads: the link is no socket and is never lost
};
/// `why` is a complete description: "connection refused by 10.0.0.1:29500".
struct DialFailed {
  std::string why;
  std::optional<EndKind> end{};       ///< if a later attempt cannot succeed either; otherwise empty
  bool is_own_port = false;           ///< this agent wants to lead, and cannot get the port
  std::optional<Instant> last_try{};  ///< when the port is given up, if before the timeout
};
/// `why` completes a sentence about the leader: "closed the connection".
struct LinkDown {
  std::string why;
};
struct FromLeader {
  Message message;
};
struct Wake {};

// gang/events.hpp has the events of this node.

using ParticipantEvent = std::variant<LinkUp, DialFailed, LinkDown, FromLeader, NodeEvent, StoodStill, Wake>;

// Actions.

/// Resolve the leader's name again and connect, or become the leader; answered by LinkUp or DialFailed.
struct Dial {
  bool may_lead = true;  ///< false while the job runs: its leader is not replaced
};
struct SendToLeader {
  Message message;
};
/// Close the link once everything is sent. Its loss is not reported any more.
struct CloseLink {};
/// The job is over for this agent: report and leave.
struct Leave {
  JobEnd end;
};

/// A `Value` was exchanged while the attempt runs. gang/events.hpp has the requests to this node.
using ParticipantAction =
    std::variant<Dial, SendToLeader, CloseLink, StartAttempt, Value, StopAttempt, PassSignal, KillAttempt,
                 SuspendNotice, Hung, StallBegun, StatusQuery, StatusReport, LogLine, Leave>;
using ParticipantActions = std::vector<ParticipantAction>;

}  // namespace muster::gang
