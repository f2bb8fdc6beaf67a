#pragma once

// How an agent and its leader know that the other one is still there: beats, answers, and how long
// silence may last.

#include "gang/protocol/durations.hpp"

#include <chrono>
#include <deque>
#include <optional>
#include <string>

namespace muster::gang {

class LeaderLiveness {
 public:
  LeaderLiveness(std::chrono::milliseconds heartbeat_timeout, Instant now);

  void on_link(Instant now);
  /// The leader knows this node, and says how long silence may last.
  void on_admitted(double heartbeat_timeout_seconds, Instant now);
  /// The leader is gone, and the next one does not know this node.
  void forget() { is_admitted_ = false; }
  void on_heard(Instant now) { last_heard_ = now; }
  /// The leader answers our beats in turn.
  void on_answer();
  /// The leader may start without this node so long after it was last heard; 0: it never does.
  void on_start(double orphan_limit_seconds);
  void beat_soon(Instant now);

  [[nodiscard]] std::chrono::milliseconds heartbeat_timeout() const { return heartbeat_timeout_; }
  [[nodiscard]] bool is_admitted() const { return is_admitted_; }
  [[nodiscard]] Instant next_wake() const;
  /// Whether a beat is to be sent now.
  [[nodiscard]] bool take_beat(Instant now);

  /// From then on the leader may start the next attempt without this node. It counts from when it
  /// heard us the last time, which is not before we sent the last beat that it answered.
  [[nodiscard]] Instant must_be_gone() const;
  /// How long workers may live on now that the leader is lost; empty: as long as they like.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_without_leader(Instant now) const;

  /// What is wrong with the leader, behind its name; empty: nothing.
  [[nodiscard]] std::string silence(Instant now) const;
  [[nodiscard]] std::string describe_unanswered(Instant now) const;

 private:
  [[nodiscard]] std::chrono::milliseconds silence_limit() const;
  [[nodiscard]] std::chrono::milliseconds beat_interval() const { return heartbeat_timeout_ / 4; }

  std::chrono::milliseconds heartbeat_timeout_;
  std::optional<std::chrono::milliseconds> orphan_limit_;
  bool is_admitted_ = false;
  Instant next_beat_;
  Instant last_heard_;
  Instant confirmed_;               ///< we sent what the leader answered last
  std::deque<Instant> unanswered_;  ///< when those beats were sent that it has not answered yet
};

}  // namespace muster::gang
