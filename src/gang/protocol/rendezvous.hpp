#pragma once

// Decides how long the leader waits for nodes, and when an attempt can start. Part of the leader: pure.

#include "gang/protocol/admission.hpp"
#include "gang/protocol/gang_state.hpp"
#include "gang/protocol/goodbye.hpp"
#include "gang/protocol/preflight.hpp"
#include "gang/protocol/rendezvous_timer.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

class Rendezvous {
 public:
  /// The references outlive it.
  Rendezvous(GangState& gang, Admission& admission, Goodbye& goodbye, Preflight& preflight, Instant now)
      : gang_(gang),
        admission_(admission),
        goodbye_(goodbye),
        preflight_(preflight),
        timer_(gang.config.options, now) {}

  /// The wait for the next attempt begins.
  void gather(Instant now);
  /// Gives the node a seat, as `Admission::place` does, and starts the attempt if it was the last node.
  void place(LinkId link, Instant now);
  void place_claimants(int seat, Instant now);
  /// Asks for ports if the attempt can start.
  void try_start(Instant now);
  /// Asks for ports if nothing but the doubt about a claimed seat still delays the start (`is_seat_in_doubt`).
  void try_delayed_start(Instant now) {
    if (delayed_by_claim_since_) {
      try_start(now);
    }
  }
  /// Takes the answer to ReservePort. True: the attempt is to start with these ports.
  bool take_port(const PortReserved& reserved, Instant now);
  void on_tick(Instant now);
  std::optional<Instant> next_wake() const;

  /// Updates a node's readiness: a spare that has become ready may be needed.
  void follow_readiness(LinkId link, Instant now);
  /// To be called when a node with a seat lacks what an attempt needs (`Member::cannot_go_on`).
  void note_unable_node() { has_unable_node_ = true; }
  /// A node has contributed, so it has to be found out again whether the values fit together.
  void forget_pending() { pending_for_.clear(); }
  /// True while the values of the seated nodes do not fit together. Checked again when one of them contributes again,
  /// or when other nodes are to start.
  bool holds_back(Instant now);
  void note_unresolved(std::set<std::string> hosts) { timer_.note_unresolved(std::move(hosts)); }

 private:
  bool is_enough() const;
  /// True if the ready nodes are enough for a start; the others then count as absent. The leader's node must be
  /// ready, and in a job whose size is a number of workers every node.
  bool is_enough_ready() const;
  bool awaits_nodes() const;
  bool is_pending() const;
  bool is_seat_in_doubt(Instant now);
  bool end_for_missing_nodes(Instant now);
  std::string describe_waiting(const std::string& how) const;
  void resolve_hosts();
  void report_progress(Instant now);

  GangState& gang_;
  Admission& admission_;
  Goodbye& goodbye_;
  Preflight& preflight_;
  RendezvousTimer timer_;
  bool has_unable_node_ = false;  ///< true: a node may lack what an attempt needs: look at all
  bool waits_for_port_ = false;
  bool waits_for_preflight_ = false;               ///< `Preflight` holds the start back
  std::optional<Instant> delayed_by_claim_since_;  ///< since when the start waits only for a claimed seat
  std::string pending_;                            ///< why the seated nodes cannot start yet
  std::vector<LinkId> pending_for_;                ///< the nodes that `pending_` is about
};

}  // namespace muster::gang
