#pragma once

// Starts an attempt of the job. Part of the leader: pure.

#include "gang/protocol/admission.hpp"
#include "gang/protocol/gang_state.hpp"
#include "gang/protocol/goodbye.hpp"
#include "gang/protocol/rendezvous.hpp"

#include <set>
#include <string>
#include <vector>

namespace muster::gang {

class AttemptStart {
 public:
  /// The references outlive it.
  AttemptStart(GangState& gang, Admission& admission, Rendezvous& rendezvous, Goodbye& goodbye)
      : gang_(gang), admission_(admission), rendezvous_(rendezvous), goodbye_(goodbye) {}

  /// Starts the job without the nodes that are not ready. Ready spares take their seats. `offer`: ports that the
  /// leader has reserved for the workers.
  void start_with_ready(const AttemptPorts& offer, Instant now);

 private:
  std::vector<int> leave_out_unready(Instant now);
  void start_attempt(const AttemptPorts& offer, Instant now);
  std::string last_verdict() const;
  /// By node rank.
  std::vector<NodeFacts> facts_of_nodes() const;
  std::vector<NodeName> names_of_nodes() const;
  void name_bad_nodes();
  void record_arrivals();
  void send_starts(Start start);

  GangState& gang_;
  Admission& admission_;
  Rendezvous& rendezvous_;
  Goodbye& goodbye_;
  std::set<std::string> said_;  ///< lines that were logged about nodes that failed in earlier jobs
};

}  // namespace muster::gang
