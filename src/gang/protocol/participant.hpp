#pragma once

// Decides for one agent: how it finds the leader, how it follows messages, and when it gives up. Pure: no socket, no
// clock, no process. docs/architecture.md has the table of its states.

#include "gang/gang_config.hpp"
#include "gang/protocol/exchange.hpp"
#include "gang/protocol/leader_link.hpp"
#include "gang/protocol/membership.hpp"
#include "gang/protocol/node_attempt.hpp"
#include "gang/protocol/participant_events.hpp"

#include <optional>
#include <string>

namespace muster::gang {

/// Decisions of one agent, also of the leader's own.
///
///   Connecting ── link up ──▶ Joined ── start ──▶ Running ── a failure, a stop ──▶ Stopping
///      ▲  └ dial again       │ ▲                  │ all over                       │ all over
///      └──── link lost ──────┘ │                  ▼                                ▼
///        (before any start)    └───────────── start ◀──────────────────────────── Over
///
///   Left: told the end, gave up, lost the leader, or stopped by a signal
///
/// It passes each event to one of its parts, which share Membership: LeaderLink handles the leader's presence, and
/// NodeAttempt the workers. It handles itself what concerns both, or the exchange.
class Participant {
 public:
  using State = ParticipantState;

  Participant(GangConfig config, Instant now);
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;
  ~Participant() = default;

  ParticipantActions start();
  ParticipantActions on(const ParticipantEvent& event, Instant now);

  /// Returns when `Wake` is due; empty: only events are awaited.
  std::optional<Instant> next_wake() const;

  /// Returns how long the workers may live until the next call. Empty in a job of one node.
  Lease lease() const { return link_.lease(); }
  /// This process has handled an event, its leader's or its own: the lease is counted from now.
  void note_turn(Instant now) { last_turn_ = now; }

  /// Names what it waits for: "the leader at 10.0.0.1:29500". Empty while its own workers are alive, and when it has
  /// left.
  std::string awaited() const;

  State state() const { return membership_.state; }
  const ExchangeClient& contributions() const { return contributions_; }

 private:
  void pass(const auto& event, Instant now);
  void handle(const LinkUp& up, Instant now);
  void handle(const FromLeader& received, Instant now);
  void handle(const NodeEvent& event, Instant now);
  void handle(const SuspendRequested& request, Instant now);
  void handle(const StatusQuery& wanted, Instant now);
  void handle(const StatusReport& ready, Instant now);
  void handle(const Announced& announced, Instant now);
  void handle(const InputsChanged& inputs, Instant now);
  void handle(const InputsFailed& failed, Instant now);
  void handle(const Contributed& contributed, Instant now);

  void pass_message(const auto& message, Instant now);
  void take(const Waiting& waiting, Instant now);
  void take(const Merged& merged, Instant now);
  void take(const Start& start, Instant now);
  void take(const StatusQuery& asked, Instant now);
  void take(const StatusReport& report, Instant now);
  void take(const Announce& announce, Instant now);
  void take(const auto& unexpected, Instant now);

  Membership membership_;
  ExchangeClient contributions_;
  NodeAttempt attempt_;
  LeaderLink link_;
  std::string waits_for_;  ///< see `InputStatus`
  Instant started_;
  Instant last_turn_;
};

}  // namespace muster::gang
