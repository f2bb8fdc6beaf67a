#pragma once

// How an agent looks for its leader: when it dials again, what it says meanwhile, when it gives up.

#include "gang/protocol/fence.hpp"
#include "gang/protocol/messages.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace muster::gang {

class ConnectRetry {
 public:
  /// `seed` is another one for each agent: no two of them dial in step.
  ConnectRetry(std::string leader, std::uint64_t seed, std::chrono::milliseconds timeout, Instant now);

  /// From the beginning: a leader that was found is gone.
  void begin_again(Instant now);
  /// Looks no longer than that.
  void give_up_at(Instant moment) { deadline_ = std::min(deadline_, moment); }
  void on_dial();
  /// What there is to say about a dial that failed, or a link that was lost. The next dial is timed.
  [[nodiscard]] std::optional<LogLine> on_failure(const std::string& why, Instant now);
  /// Somebody took the connection, and that is all. What was found out before stays known: the end may come
  /// in the middle of one more attempt.
  void on_silence() {
    last_failure_ +=
        std::string(last_failure_.empty() ? "" : "; at last ") + "somebody took the connection and does not answer";
  }

  [[nodiscard]] bool is_dial_due(Instant now) const { return dial_at_ && now >= *dial_at_; }
  [[nodiscard]] bool is_in_vain(Instant now) const { return now >= deadline_; }
  [[nodiscard]] Instant deadline() const { return deadline_; }
  [[nodiscard]] Instant next_wake() const;

  /// Every now and then, how long it has been looking and why.
  [[nodiscard]] std::optional<LogLine> progress(Instant now);
  [[nodiscard]] std::string describe_failure(Instant now) const;
  /// Another one for each agent and each dial.
  [[nodiscard]] std::string incarnation() const;

 private:
  std::string leader_;  ///< "host:port"
  std::uint64_t seed_;
  std::chrono::milliseconds timeout_;
  std::string last_failure_;
  int dials_ = 0;
  Instant since_;
  Instant deadline_;
  Instant next_progress_;
  std::optional<Instant> dial_at_;
};

// How an agent and its leader know that the other one is still there: beats, answers, and how long
// silence may last.

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
