#pragma once

// Holds what an agent knows of its place in the gang. The parts of the participant share it, and each has a state of
// its own beside it.

#include "base/log.hpp"
#include "gang/gang_config.hpp"
#include "gang/protocol/participant_events.hpp"
#include "supervise/job_end.hpp"

#include <optional>
#include <string>

namespace muster::gang {

/// State of a participant; docs/architecture.md has the table.
enum class ParticipantState {
  Connecting,  ///< no link to the leader yet
  Joined,      ///< has a link; nothing has been started
  Running,     ///< workers run
  Stopping,    ///< workers are being ended
  Over,        ///< the attempt is over here; the leader decides what follows
  Left
};

/// Holds what one agent knows of its own place in the gang.
struct Membership {
  explicit Membership(GangConfig given);

  bool has_workers() const { return state == ParticipantState::Running || state == ParticipantState::Stopping; }
  /// Returns `end` with the number of the present attempt.
  JobEnd in_this_attempt(JobEnd end) const;

  /// Sends the message if there is a link.
  void send(Message message);
  void say(Level level, std::string text);
  /// Ends the job for this agent.
  void leave(JobEnd end);

  GangConfig config;
  std::string leader;  ///< "host:port", for messages
  ParticipantState state = ParticipantState::Connecting;
  bool is_leader = false;
  bool is_linked = false;
  bool has_run = false;  ///< an attempt was started: from then on a lost leader is lost for good
  int attempt = 0;
  std::optional<JobEnd> known_end;  ///< what to report if the leader sends no end
  ParticipantActions actions;
};

}  // namespace muster::gang
