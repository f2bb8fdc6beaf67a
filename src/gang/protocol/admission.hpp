#pragma once

// Decides which agents may join the job, and which of them get seats. Part of the leader: pure.

#include "gang/protocol/gang_state.hpp"
#include "gang/protocol/rendezvous_timer.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

/// An agent without a seat (see Roster) is a *spare* if the job can restart, otherwise it is refused. Spares for which
/// there is room while an attempt runs are *newcomers*: the job may restart for them.
class Admission {
 public:
  /// The state outlives it.
  explicit Admission(GangState& gang) : gang_(gang), newcomers_call_(gang.config.options.last_call) {}

  /// Adds an agent that joins. False: it is refused.
  bool admit(const Joined& arrived, Instant now);
  /// Gives the agent a seat, or lets it claim or wait for one, or refuses it. True: it got a seat.
  bool place(LinkId link, Instant now);
  /// Seats the spares on free seats: first on their own rank, then on any. A spare that is not ready gets a seat only
  /// if the job needs it.
  void seat_spares();
  /// True if a ready spare, not barred by --node-failures, can have this seat.
  bool has_spare_for(int seat) const;
  /// The spares that can have this seat, or a free one.
  std::vector<LinkId> spares_for(int seat) const;
  /// Handles an agent without a seat in this attempt.
  void keep_or_refuse(LinkId link, Instant now);
  void refuse(LinkId link, std::string reason, bool may_retry = false);
  /// The holder of a claimed seat is alive: refuses all agents that claim its seat.
  void refuse_claimants(int seat);
  /// Tells spares whether the job runs. If it has not started, they may look for another leader after a loss.
  void notify_spares(std::vector<LinkId> spares, bool does_job_run);
  /// A node is ready when its inputs have arrived and its contributions have reached the leader.
  void note_readiness(LinkId link);

  /// The spares that would get a seat if the job restarted now.
  std::vector<LinkId> newcomers() const;
  /// Several newcomers cause one restart: the first ones wait for others in a last call, unless the job is complete.
  void note_newcomers(Instant now);
  void cancel_newcomers_call() { newcomers_call_.cancel(); }
  std::optional<Instant> newcomers_call_end() const { return newcomers_call_.end(); }
  bool is_newcomers_call_over(Instant now) const { return newcomers_call_.is_over(now); }

 private:
  std::string objection(const Join& join) const;
  bool is_too_much(const Join& join) const;
  bool is_barred(LinkId link) const;
  void take_seat(LinkId link, int seat);

  GangState& gang_;
  LastCall newcomers_call_;             ///< for more nodes, before a restart for those that have come
  std::set<std::string> incarnations_;  ///< of all admitted agents
  int refusals_ = 0;
};

}  // namespace muster::gang
