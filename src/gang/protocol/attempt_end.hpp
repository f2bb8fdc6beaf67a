#pragma once

// Ends an attempt on all nodes, and decides what follows. Part of the leader: pure.

#include "gang/protocol/admission.hpp"
#include "gang/protocol/gang_state.hpp"
#include "gang/protocol/goodbye.hpp"
#include "gang/protocol/rendezvous.hpp"
#include "gang/protocol/suspension.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace muster::gang {

class AttemptEnd {
 public:
  /// The references outlive it.
  AttemptEnd(GangState& gang, Admission& admission, Rendezvous& rendezvous, Suspension& suspension, Goodbye& goodbye)
      : gang_(gang), admission_(admission), rendezvous_(rendezvous), suspension_(suspension), goodbye_(goodbye) {}

  /// Stops all nodes at once. Only when no process of the attempt is alive is it decided what follows. `reason` is
  /// told to the nodes; empty: the reason of `end`.
  void end_attempt(JobEnd end, int signal, Instant now, std::string reason = {});
  /// Ends the attempt because of a suspension; `what` is a text of `Suspension`.
  void end_suspended(const std::string& what, Instant now, EndKind kind = EndKind::Suspended);
  /// Ends the workers as after a failure, although nothing has failed: newcomers take part in the next attempt.
  void scale_up(Instant now);
  /// An agent was asked to stop, and the job cannot go on without it.
  void stop_by_request(const Member& asked, const StopFromAgent& request, Instant now);
  /// A person who asks again ends the grace of all nodes.
  void hurry(const Member& asked, int signal, Instant now);
  /// Shortens the grace on all nodes, whose workers are ending already.
  void limit_grace(const StopFromAgent& request);
  /// Makes this the end of the job: the workers are ending already, and no other attempt follows.
  void end_without_restart(JobEnd end, Instant now);
  /// A process of a node has exited with 0.
  void note_success(LinkId link, const Succeeded& succeeded, Instant now);
  /// A node has ended, or is lost. When it was the last one, the next attempt is prepared or the job ends.
  void after_an_end(Instant now);

  /// Sends the values that the nodes have merged. If a merge has failed, the job ends: the next attempt would
  /// contribute the same.
  void carry_out(const ExchangeOutcome& outcome, Instant now);

  /// True if the job has a replacement for the node, or may be smaller.
  bool can_continue_without(LinkId link, Instant now) const;
  /// True if some nodes should have reported the end of their workers long ago.
  bool is_stop_overdue(Instant now) const { return gang_.state == LeaderState::Stopping && now >= stop_deadline_; }
  /// Returns the nodes that should have reported long ago, and gives them some more time.
  std::vector<LinkId> take_late_nodes(Instant now);

  void on_tick(Instant now);
  std::optional<Instant> next_wake() const;

 private:
  void stop_nodes(int signal, Instant now);
  std::chrono::milliseconds longest_stop();
  void name_first_failure();
  void count_node_failure();
  std::optional<NodeRank> node_of_rank(int rank) const;
  void rest(Instant now);
  bool count_restart(Instant now);
  void log_next_step(bool waits_for_fence, Instant now);
  std::vector<LinkId> nodes_that_have_not_ended() const;

  GangState& gang_;
  Admission& admission_;
  Rendezvous& rendezvous_;
  Suspension& suspension_;
  Goodbye& goodbye_;
  std::optional<std::chrono::milliseconds> asked_grace_;  ///< in the request to end
  Instant rest_until_;                                    ///< while Resting
  Instant stop_deadline_;                                 ///< nodes that have not ended by then are lost
};

}  // namespace muster::gang
