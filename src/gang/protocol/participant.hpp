#pragma once

// Decides for one agent: how it finds the leader, how it follows messages, and when it gives up. Pure: no socket, no
// clock, no process. docs/architecture.md has the table of its states.

#include "gang/gang_config.hpp"
#include "gang/protocol/exchange.hpp"
#include "gang/protocol/fence.hpp"
#include "gang/protocol/leader_contact.hpp"
#include "gang/protocol/messages.hpp"

#include <chrono>
#include <optional>
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
  bool is_final = false;  ///< a later attempt cannot succeed
};
/// `why` follows "the leader": "closed the connection".
struct LinkDown {
  std::string why;
};
struct FromLeader {
  Message message;
};
struct Wake {};

// gang/events.hpp has the events of this node.

using ParticipantEvent = std::variant<LinkUp, DialFailed, LinkDown, FromLeader, NodeEvent, Wake>;

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

/// Decisions of one agent, also of the leader's own.
///
///   Connecting ── link up ──▶ Joined ── start ──▶ Running ── a failure, a stop ──▶ Stopping
///      ▲  └ dial again       │ ▲                  │ all over                       │ all over
///      └──── link lost ──────┘ │                  ▼                                ▼
///        (before any start)    └───────────── start ◀──────────────────────────── Over
///
///   Left: told the end, gave up, lost the leader, or stopped by a signal
class Participant {
 public:
  Participant(GangConfig config, Instant now);

  [[nodiscard]] ParticipantActions start();
  [[nodiscard]] ParticipantActions on(const ParticipantEvent& event, Instant now);

  /// Returns when `Wake` is due; empty: only events are awaited.
  [[nodiscard]] std::optional<Instant> next_wake() const;

  /// Returns how long the workers may live until the next call. Empty in a job of one node.
  [[nodiscard]] Lease lease() const;

  /// Names what it waits for: "the leader at 10.0.0.1:29500". Empty while its own workers are alive, and when it has
  /// left.
  [[nodiscard]] std::string awaited() const;

  enum class State {
    Connecting,  ///< no link to the leader yet
    Joined,      ///< has a link; nothing has been started
    Running,     ///< workers run
    Stopping,    ///< workers are being ended
    Over,        ///< the attempt is over here; the leader decides what follows
    Left
  };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const ExchangeClient& contributions() const { return contributions_; }

 private:
  void handle(const LinkUp& up, Instant now);
  void handle(const DialFailed& failed, Instant now);
  void handle(const LinkDown& down, Instant now);
  void handle(const FromLeader& received, Instant now);
  void handle(const NodeEvent& event, Instant now);
  void handle(const Failure& failure, Instant now);
  void handle(const Succeeded& worker, Instant now);
  void handle(const WorkersGone& gone, Instant now);
  void handle(const AttemptOver& over, Instant now);
  void handle(const StopSignal& stop, Instant now);
  void handle(const SuspendRequested& request, Instant now);
  void handle(const WorkSaved& saved, Instant now);
  void handle(const StatusQuery& wanted, Instant now);
  void handle(const StatusReport& ready, Instant now);
  void handle(const Announced& announced, Instant now);
  void handle(const Hung& hung, Instant now);
  void handle(const InputsChanged& inputs, Instant now);
  void handle(const InputsFailed& failed, Instant now);
  void handle(const GuardGone& gone, Instant now);
  void handle(const Contributed& contributed, Instant now);
  void handle(const Wake& wake, Instant now);

  void take(const Admitted& admitted, Instant now);
  void take(const Refused& refused, Instant now);
  void take(const Waiting& waiting, Instant now);
  void take(const Merged& merged, Instant now);
  void take(const Start& start, Instant now);
  void take(const Suspend& suspend, Instant now);
  void take(const Stop& stop, Instant now);
  void take(const StatusQuery& asked, Instant now);
  void take(const StatusReport& report, Instant now);
  void take(const Announce& announce, Instant now);
  void take(const Hung& hung, Instant now);
  void take(const Finish& finish, Instant now);
  void take(const Heartbeat& beat, Instant now);
  template <typename Other>
  void take(const Other& unexpected, Instant now);

  void dial();
  void seek(const std::string& why, Instant now);
  void give_up(Instant now);
  void lose_leader(const std::string& why, Instant now);
  void cut_off(std::string why, Instant now);
  void send_heartbeats(Instant now);
  [[nodiscard]] bool may_be_replaced() const;
  [[nodiscard]] Instant must_be_gone() const;
  [[nodiscard]] std::optional<Instant> next_event() const;
  void leave(JobEnd end);
  [[nodiscard]] static std::string unlogged_reason(const JobEnd& end, const std::string& reason);
  void stop_attempt(int signal, std::string reason, std::optional<std::chrono::milliseconds> most_grace = std::nullopt);
  [[nodiscard]] bool has_workers() const { return state_ == State::Running || state_ == State::Stopping; }
  [[nodiscard]] JobEnd in_this_attempt(JobEnd end) const;
  void send(Message message);
  void log_line(Level level, std::string text);
  void log_line(std::optional<LogLine> log_line);

  GangConfig config_;
  std::string leader_;     ///< "host:port", for messages
  std::string waits_for_;  ///< see `InputStatus`
  ExchangeClient contributions_;
  ConnectRetry connect_retry_;
  LeaderLiveness liveness_;
  State state_ = State::Connecting;
  bool is_leader_ = false;
  bool is_linked_ = false;
  bool is_spare_ = false;
  bool runs_without_us_ = false;  ///< a spare of a job that has been started
  std::string lost_while_spare_;  ///< reason; empty: it has its leader or a seat, or has had no leader yet
  int attempt_ = 0;
  bool has_run_ = false;                 ///< an attempt was started: from then on a lost leader is lost for good
  std::optional<JobEnd> known_end_;      ///< reported if the leader sends no more
  std::optional<int> self_signal_;       ///< signal that this agent got before the leader knew
  std::optional<int> signal_elsewhere_;  ///< for which the leader ends the job
  int urgent_stops_ = 0;
  std::optional<Failure> local_failure_;
  Instant gone_by_ = Instant::max();  ///< set when the leader is lost and continues without this node
  bool are_workers_gone_ = false;     ///< of the attempt, which is not over yet
  Instant last_turn_;
  Instant started_;
  ParticipantActions actions_;
};

}  // namespace muster::gang
