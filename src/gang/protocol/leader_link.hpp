#pragma once

// Decides about an agent's link to its leader: when it dials, when it gives up, when the leader is lost, and how long
// the workers may live then. Part of the participant: pure.

#include "gang/protocol/leader_contact.hpp"
#include "gang/protocol/membership.hpp"
#include "gang/protocol/node_attempt.hpp"
#include "gang/protocol/node_memory.hpp"
#include "gang/protocol/standstill.hpp"

#include <optional>
#include <string>

namespace muster::gang {

class LeaderLink {
 public:
  /// The membership and the attempt outlive it.
  LeaderLink(Membership& membership, NodeAttempt& attempt, Instant now);

  void dial();
  /// The link is up; the participant sends its join.
  void note_up(const LinkUp& up, Instant now);
  void on(const DialFailed& failed, Instant now);
  void on(const LinkDown& down, Instant now);
  void on(const StoodStill& still, Instant now);
  void on(const Wake& wake, Instant now);

  /// To be called for each message of the leader, before it is taken.
  void note_message(Instant now) { liveness_.on_heard(now); }
  void take(const Admitted& admitted, Instant now);
  void take(const Refused& refused, Instant now);
  void take(const Heartbeat& beat, Instant now);

  /// Closes the link, as if it were lost. `why` completes "the leader": "sent a start that is too old".
  void cut_off(std::string why, Instant now);
  /// This node's inputs have failed: gives a search for a leader only a moment more, to tell one of it.
  void give_up_soon(Instant now);
  /// An attempt is started here. After `orphan_limit_seconds` without this node the leader may start another one; 0: it
  /// never does.
  void note_start(double orphan_limit_seconds) { liveness_.on_start(orphan_limit_seconds); }
  void heartbeat_soon(Instant now) { liveness_.heartbeat_soon(now); }

  /// The moment from which the leader may start an attempt without this node; `max`: it never does that.
  Instant must_be_gone() const;
  std::optional<Instant> next_wake() const;
  /// The lease that this node's guard has to enforce; empty in a job of one node.
  Lease lease() const;
  /// An id that differs for each agent and each dial.
  std::string incarnation() const { return connect_retry_.incarnation(); }

  /// Sends a heartbeat, with the memory use of this node, if one is due.
  void send_heartbeat(Instant now);
  void seek(const std::string& why, Instant now);
  void lose(const std::string& why, Instant now);
  void give_up(Instant now);
  bool may_be_replaced() const;

  Membership& membership_;
  NodeAttempt& attempt_;
  ConnectRetry connect_retry_;
  LeaderLiveness liveness_;
  Standstill standstill_;
  NodeMemory leaders_memory_;
  bool is_spare_ = false;
  bool job_has_started_ = false;      ///< true for a spare: the job has been started
  std::string lost_while_spare_;      ///< reason of the loss; empty: not lost while it was a spare
  Instant gone_by_ = Instant::max();  ///< set when the leader is lost and continues without this node
};

}  // namespace muster::gang
