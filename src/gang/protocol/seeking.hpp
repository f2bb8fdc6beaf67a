#pragma once

// How an agent looks for its leader: when it dials again, what it says meanwhile, when it gives up.

#include "gang/protocol/durations.hpp"
#include "gang/protocol/mention.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace muster::gang {

class ConnectRetry {
 public:
  /// `seed` is another one for each agent: no two of them dial in step.
  ConnectRetry(std::string leader,
               std::uint64_t seed,
               std::chrono::milliseconds timeout,
               Instant now);

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
    last_failure_ += std::string(last_failure_.empty() ? "" : "; at last ") +
                     "somebody took the connection and does not answer";
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

}  // namespace muster::gang
