#pragma once

// Decides when an agent dials its leader again, what it logs meanwhile and when it gives up, and detects the leader's
// loss.

#include "gang/protocol/fence.hpp"
#include "gang/protocol/messages.hpp"
#include "gang/protocol/participant_events.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>

namespace muster::gang {

/// Times the dials of an agent to its leader, and describes why they fail.
class ConnectRetry {
 public:
  /// `seed` differs for each agent, so that agents do not dial in step.
  ConnectRetry(std::string leader, std::uint64_t seed, std::chrono::milliseconds timeout, Instant now);

  /// Starts over after the loss of a leader.
  void begin_again(Instant now);
  /// Brings the deadline forward to `moment`, if that is earlier.
  void give_up_at(Instant moment) { deadline_ = std::min(deadline_, moment); }
  void on_dial();
  /// Schedules the next dial after a failed one or a lost link. Returns a line to log if the reason is new: users see
  /// each reason once, and new ones not all at once.
  std::optional<LogLine> on_failure(const DialFailed& failed, Instant now);
  /// Notes that the last dial was accepted, but nobody answered. Keeps the description of earlier failures, because
  /// the deadline may come while the next attempt to connect still runs.
  void on_silence() {
    last_failure_ +=
        std::string(last_failure_.empty() ? "" : "; at last ") + "somebody took the connection and does not answer";
  }

  bool is_dial_due(Instant now) const { return dial_at_ && now >= *dial_at_; }
  bool is_in_vain(Instant now) const { return now >= deadline_; }
  Instant deadline() const { return deadline_; }
  Instant next_wake() const;

  /// Returns, from time to time, a line about the duration and the reason of the search.
  std::optional<LogLine> progress(Instant now);
  std::string describe_failure(Instant now) const;
  /// Returns an id that differs for each agent and each dial.
  std::string incarnation() const;

 private:
  std::string leader_;  ///< "host:port"
  std::uint64_t seed_;
  std::chrono::milliseconds timeout_;
  std::string last_failure_;
  std::set<std::string> told_;  ///< reasons that were printed
  Instant told_at_;             ///< when the last reason was printed
  bool leads_ = false;
  int dials_ = 0;
  Instant since_;
  Instant deadline_;
  Instant next_progress_;
  std::optional<Instant> dial_at_;
};

/// Formats the number as `Join::incarnation`.
std::string incarnation_of(std::uint64_t number);

// Decides for an agent when to send heartbeats to the leader, and after which silence the leader is lost.

class LeaderLiveness {
 public:
  LeaderLiveness(std::chrono::milliseconds heartbeat_timeout, Instant now);

  void on_link(Instant now);
  /// The leader has admitted this node, with its heartbeat timeout.
  void on_admitted(double heartbeat_timeout_seconds, Instant now);
  /// The leader is lost. The next one has to admit this node first.
  void forget() { is_admitted_ = false; }
  void on_heard(Instant now) { last_heard_ = now; }
  /// The leader answered the oldest unanswered heartbeat.
  void on_answer();
  /// The time after this node's last message when the leader may start without it; 0: the leader never does.
  void on_start(double orphan_limit_seconds);
  void heartbeat_soon(Instant now);
  /// Brings the next heartbeat forward, because it may be the last one that this node can send.
  void hurry(Instant now);

  std::chrono::milliseconds heartbeat_timeout() const { return heartbeat_timeout_; }
  bool is_admitted() const { return is_admitted_; }
  Instant next_wake() const;
  /// True when a heartbeat is due; schedules the next one.
  bool take_heartbeat(Instant now);

  /// The moment from which the leader may start the next attempt without this node. The leader counts from this
  /// node's last message, and this node from the heartbeat that was answered last, which is never later.
  Instant must_be_gone() const;
  /// Time that the workers may live after the loss of the leader; empty: no limit.
  std::optional<std::chrono::milliseconds> time_without_leader(Instant now) const;

  /// Completes a sentence about a leader that is silent too long; empty: the leader is not lost.
  std::string silence(Instant now) const;
  std::string describe_unanswered(Instant now) const;

 private:
  std::chrono::milliseconds silence_limit() const;
  /// Three heartbeats go unanswered before the leader is lost, with time for the last answer.
  std::chrono::milliseconds heartbeat_interval() const { return heartbeat_timeout_ * 5 / 16; }

  std::chrono::milliseconds heartbeat_timeout_;
  std::optional<std::chrono::milliseconds> orphan_limit_;
  bool is_admitted_ = false;
  Instant next_heartbeat_;
  Instant last_heard_;
  Instant confirmed_;               ///< when the last answered heartbeat was sent
  std::deque<Instant> unanswered_;  ///< send times of unanswered heartbeats
};

}  // namespace muster::gang
