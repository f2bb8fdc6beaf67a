#pragma once

// Decides for the job: which agents belong to it, when it starts and stops, how it ends. Pure: no socket, no clock,
// no process. docs/architecture.md has the table of its states.

#include "gang/gang_config.hpp"
#include "gang/protocol/admission.hpp"
#include "gang/protocol/attempt_end.hpp"
#include "gang/protocol/attempt_start.hpp"
#include "gang/protocol/departures.hpp"
#include "gang/protocol/gang_state.hpp"
#include "gang/protocol/goodbye.hpp"
#include "gang/protocol/leader_events.hpp"
#include "gang/protocol/own_ranks.hpp"
#include "gang/protocol/preflight.hpp"
#include "gang/protocol/rendezvous.hpp"
#include "gang/protocol/status_questions.hpp"
#include "gang/protocol/suspension.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

/// Decides for the whole job. A job of one node has a leader too, with its own agent as the only member.
///
///   Rendezvous ── all here ──▶ Running ── a failure, a stop, success ──▶ Stopping ── all ended ──┐
///       ▲  │                                                              │  another attempt    │
///       │  └─ deadline, stop ──▶ Finishing ◀──────────── the end ─────────┤                     │
///       │                            │ all gone                           │                     │
///       └────────── rest over ── Resting ◀────────────────────────────────┴─────────────────────┘
///                                 Finished
///
/// It passes each event to its parts, which share GangState: Admission and Rendezvous until an attempt can start,
/// AttemptStart, AttemptEnd and Suspension from then on, Departures when a node is lost or leaves, Goodbye at the end.
/// Preflight compares the nodes.
///
/// If seats stay empty (a job of MIN to MAX nodes), the node ranks of an attempt number the occupied seats.
class Leader {
 public:
  using State = LeaderState;

  Leader(GangConfig config, Instant now);
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;
  ~Leader() = default;

  LeaderActions on(const LeaderEvent& event, Instant now);

  /// Returns when `Tick` is due; empty: only events are awaited. A job of one node never ticks while it runs.
  std::optional<Instant> next_wake() const;

  /// Names what the leader waits for at the end: "goodbye of node 4". Empty while no end is in progress.
  std::vector<std::string> awaited() const;

  State state() const { return gang_.state; }
  const Roster& roster() const { return gang_.roster; }
  /// Nodes of the attempt, by node rank.
  const std::vector<LinkId>& nodes() const { return gang_.attempt.nodes(); }
  std::vector<ExchangeNode> exchange_nodes() const { return gang_.exchange_nodes(nodes()); }

 private:
  void handle(const Joined& arrived, Instant now);
  void handle(const Received& received, Instant now);
  void handle(const LinkLost& lost, Instant now);
  void handle(const AuthFailed& stranger, Instant now);
  void handle(const PortReserved& reserved, Instant now);
  void handle(const HostsLookedUp& found, Instant now);
  void handle(const StoodStill& still, Instant now);
  void handle(const Tick& tick, Instant now);

  void take(LinkId link, const Heartbeat& beat, Instant now);
  void take(LinkId link, const InputStatus& preparing, Instant now);
  void take(LinkId link, const Contribute& contribute, Instant now);
  void take(LinkId link, const Failed& failed, Instant now);
  void take(LinkId link, const Succeeded& succeeded, Instant now);
  void take(LinkId link, const AttemptOver& ended, Instant now);
  void take(LinkId link, const StopFromAgent& asked, Instant now);
  void take(LinkId link, const SuspendRequested& asked, Instant now);
  void take(LinkId link, const WorkSaved& saved, Instant now);
  void take(LinkId link, const StatusQuery& asked, Instant now);
  void take(LinkId link, const StatusReport& report, Instant now);
  void take(LinkId link, const Announce& announce, Instant now);
  void take(LinkId link, const Hung& hung, Instant now);
  void take(LinkId link, const auto& unexpected, Instant now);

  void end_unprepared(LinkId link, const InputStatus& preparing, Instant now);
  bool leave_out_unfit(Instant now);
  bool replace_barred(Instant now);
  void note_unfit(const UnfitNode& unfit);
  std::string describe_other_unfit(const std::vector<UnfitNode>& unfit) const;
  void withdraw_notice(Instant now);
  void continue_without(LinkId link, int signal, Instant now);

  GangState gang_;
  OwnRanks own_ranks_;
  StatusQuestions questions_;
  Preflight preflight_;
  Admission admission_;
  Goodbye goodbye_;
  Rendezvous rendezvous_;
  AttemptStart attempt_start_;
  Suspension suspension_;
  AttemptEnd attempt_end_;
  Departures departures_;
};

}  // namespace muster::gang
