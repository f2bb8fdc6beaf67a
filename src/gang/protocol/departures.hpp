#pragma once

// Takes nodes out of the job that are silent, late, lost, or sent away. Part of the leader: pure.

#include "gang/protocol/admission.hpp"
#include "gang/protocol/attempt_end.hpp"
#include "gang/protocol/gang_state.hpp"
#include "gang/protocol/goodbye.hpp"
#include "gang/protocol/preflight.hpp"
#include "gang/protocol/rendezvous.hpp"
#include "gang/protocol/standstill.hpp"
#include "gang/protocol/suspension.hpp"

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

/// Finds agents that have been silent for a heartbeat timeout. Their messages may be unread because this process was
/// stopped: so a look that comes late does not count the delay, and an agent is silent only if a second look, a
/// moment later, finds the same.
class SilenceCheck {
 public:
  SilenceCheck(std::chrono::milliseconds heartbeat_timeout, Instant now) : timeout_(heartbeat_timeout), next_(now) {}

  /// Returns the silent agents; empty: there are none, or it is too early to look.
  std::vector<LinkId> look(Roster& roster, Instant now);
  Instant next() const { return next_; }

 private:
  std::chrono::milliseconds timeout_;
  Instant next_;
  std::set<LinkId> suspects_;  ///< silent when last looked
};

class Departures {
 public:
  /// Parts of the leader that a departure concerns.
  struct Parts {
    Admission& admission;
    Preflight& preflight;
    Rendezvous& rendezvous;
    Suspension& suspension;
    AttemptEnd& attempt_end;
    Goodbye& goodbye;
  };

  /// The references outlive it.
  Departures(GangState& gang, const Parts& parts, Instant now);

  Instant next_silence_check() const { return silence_.next(); }
  /// Disconnects the agents that have been silent for a heartbeat timeout.
  void drop_silent_nodes(Instant now);
  /// Continues without the nodes that should have said long ago that their workers have ended.
  void give_up_late_nodes(Instant now);

  void note_standstill(const StoodStill& still, Instant now);
  /// The link is gone. `why` follows "it": "closed the connection".
  void note_lost_link(LinkId link, const std::string& why, Instant now);
  void disconnect(LinkId link, const std::string& why, Instant now);
  /// Ends an agent with `end`, and logs "node 3, gpu-3 (10.0.0.4), left: it <why>".
  void send_away(LinkId link, JobEnd end, const std::string& why, Instant now);
  /// Removes a member. None of its processes runs any more, or the fence waits until that is certain.
  void release(LinkId link, const std::string& why, Instant now);

 private:
  void part_with(LinkId link, const std::string& why, Instant now);
  void note_loss(LinkId link, const std::string& why, Instant now);
  void lose(LinkId link, const std::string& why, Instant now);

  GangState& gang_;
  Parts parts_;
  SilenceCheck silence_;
  Standstill standstill_;
};

}  // namespace muster::gang
