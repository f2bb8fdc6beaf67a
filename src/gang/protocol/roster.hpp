#pragma once

// Records the agents of a job, their seats and the spares. Pure, and part of the leader.

#include "base/text.hpp"
#include "gang/protocol/fence.hpp"
#include "gang/protocol/messages.hpp"
#include "gang/protocol/node_memory.hpp"
#include "platforms/facts.hpp"
#include "platforms/placement.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

/// A link to an agent. The leader's own agent has `kOwnLink`, which is no socket and is never lost.
using LinkId = std::uint64_t;
inline constexpr LinkId kOwnLink = 0;

/// An agent that the leader knows.
struct Member {
  Join join;
  std::string peer;   ///< numeric address
  std::string local;  ///< numeric address of the leader that the agent reached
  Instant came;
  Instant last_heard;
  std::optional<int> seat;            ///< empty: a spare, or an agent that claims a seat
  std::optional<int> claimed_seat;    ///< wants this occupied seat if its holder is lost
  std::optional<NodeRank> node_rank;  ///< in the attempt; empty: takes no part
  /// The ranks of its processes in the attempt, sorted; empty: not known, or it takes no part.
  std::optional<std::vector<int>> ranks{};
  bool names_others = false;         ///< it has reported on processes that are not its own
  bool has_succeeded = false;        ///< all its deciding workers have exited with 0
  bool serves_others = false;        ///< none of its workers decides: it is needed until the end
  bool has_ended = true;             ///< no process of the attempt is alive there
  std::optional<int> leaving_after;  ///< the signal after which it leaves
  int announced = 0;                 ///< lines for all consoles since `announced_since`
  Instant announced_since;
  NodeMemory memory{};                 ///< as its heartbeats tell
  std::string waits_for;               ///< missing inputs, see `InputStatus`; changed by Roster::note_inputs
  std::optional<JobEnd> cannot_go_on;  ///< why it lacks what another attempt needs

  /// True if the job cannot succeed without this node.
  bool is_missed_if_lost() const { return !has_succeeded || serves_others; }
};

/// Seats of a job; a *seat* is a node rank. An agent takes the seat that it was given, otherwise the first free one,
/// and keeps it over all attempts. The leader's own agent has seat 0.
class Roster {
 public:
  explicit Roster(int seats) : seats_(static_cast<std::size_t>(seats)), roles_(seats_.size()) {}

  Member& add(LinkId link, Member member);
  void remove(LinkId link);
  Member* find(LinkId link);
  const Member* find(LinkId link) const;
  std::map<LinkId, Member>& members() { return members_; }
  const std::map<LinkId, Member>& members() const { return members_; }
  std::vector<LinkId> links() const;
  bool has_others() const;
  /// Number of members except the leader's own agent and agents that claim a seat.
  std::size_t others() const;

  void take_seat(LinkId link, int seat);
  /// Frees the seat and records why its holder left: "left: closed the connection".
  void leave_seat(LinkId link, std::string how);
  /// Records a refusal, unless another agent has the seat that was wanted.
  void note_refusal(LinkId link, const std::string& reason);
  /// Records the refusal of a peer that did not even join.
  void note_stranger(const std::string& peer, const std::string& why);
  std::optional<LinkId> holder(int seat) const;
  std::optional<int> free_seat() const;
  /// True if the agent may have this seat: its own rank's, or if it has no rank, one of its role or of any role.
  bool fits(const Member& member, int seat) const;
  /// The first free seat that the agent may have, except those that are `taken`.
  std::optional<int> free_seat_for(const Member& member, const std::set<int>& taken = {}) const;
  /// From now on a seat that becomes free stays reserved for the role of its node.
  void keep_roles() { keeps_roles_ = true; }
  /// The job goes on without the nodes of the free seats: a node of any role may have them.
  void open_free_seats();
  int seats() const { return static_cast<int>(seats_.size()); }
  int seated() const { return seated_; }
  int seated_ready() const { return seated_ - seated_unready_; }
  /// Number of workers of the seated agents.
  int seated_slots() const { return seated_slots_; }
  /// One more than the highest occupied seat.
  int end_of_seated() const;
  /// Seated agents, in the order of their seats.
  std::vector<LinkId> in_order() const;
  /// Agents that wait for a seat, the ready ones first.
  std::vector<LinkId> spares() const;
  void note_inputs(LinkId link, std::string waits_for);
  /// True if all seated agents have their inputs.
  bool is_ready() const { return seated_unready_ == 0; }
  bool is_ready(LinkId link) const { return members_.at(link).waits_for.empty(); }
  /// "node 3 waits for its rank table: initializing; node 5 waits for ..."; empty: all are ready.
  std::string describe_unready() const;
  /// Records that an agent claims an occupied seat.
  void claim(LinkId link, int seat);
  void withdraw_claim(LinkId link);
  std::vector<LinkId> claimants(int seat) const;
  /// True if a claimed seat has a holder that has sent nothing since then, and so may be lost.
  bool is_seat_in_doubt(Instant since) const;

  /// Describes the empty seats: "nodes 2-7 never connected; node 8 (host-i) was refused: ...; node 9 (host-j) left:
  /// closed the connection". Refused agents without a node rank come last. `hosts` names nodes by rank where the
  /// platform knows them; names in `unresolved` are marked. No node was expected in seats from `expected` on, but
  /// some may have left.
  std::string describe_missing(const std::vector<std::optional<std::string>>& hosts,
                               const std::set<std::string>& unresolved, int expected) const;
  std::vector<int> missing() const;

 private:
  std::string role_wanted_in(int seat) const;

  std::map<LinkId, Member> members_;
  std::vector<std::optional<LinkId>> seats_;
  std::vector<std::optional<std::string>> roles_;  ///< by seat, see `NodeFacts::role_name`; empty: open to any
  bool keeps_roles_ = false;
  std::map<int, std::string> departures_;  ///< reasons by seat: "(host-j) left: closed the connection"
  std::map<std::string, std::string, decltype(&is_before)> refused_{is_before};  ///< by name, without a seat
  int seated_ = 0;
  int seated_slots_ = 0;
  int seated_unready_ = 0;
  std::map<int, std::set<LinkId>> claims_;  ///< by seat
};

/// "host-b (10.0.0.2)".
std::string describe(const Member& member);
/// "node 3 (host-b)", for a member with a seat: before an attempt, nodes are named by their seats.
std::string describe_seat(const Member& member);

// Differences between the facts of two agents.

/// Describes the first fact that differs: "its mode is 'ps', the leader's is 'torchrun'"; empty: none does. Both are
/// normalized().
std::string describe_difference(const JobFacts& its, const JobFacts& leaders);

// Hosts of the tasks of a job, where a platform has placed several tasks on a host. Pure.

/// Finds each node's place on its host. `names`: hosts by node rank; a host's number follows from its first node.
std::vector<HostPlace> find_host_places(const std::vector<std::string>& names);

// Accelerators that two nodes on one host are given. Pure.

/// Describes the first devices that nodes of one host share: "nodes 0-1 are on one host, gpu-7, and their workers are
/// given the same devices 0-3: ..."; empty: none do. `nodes` are in the order of their ranks.
std::string describe_shared_devices(const std::vector<NodeFacts>& nodes);

// Workers of all nodes by the names of their roles, as torchrun counts them. Pure.

/// `nodes` are in the order of their ranks. Empty if all have one role, as in nearly all jobs. Source:
/// _assign_worker_ranks of torch/distributed/elastic/agent/server/api.py of torch 2.13.
std::vector<RoleSlots> find_role_slots(const std::vector<NodeFacts>& nodes);

}  // namespace muster::gang
