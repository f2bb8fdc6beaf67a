#pragma once

// Runs one agent's part in the gang of a job: connects the decisions of leader and participant with sockets and
// timers. Decides nothing.

#include "base/result.hpp"
#include "gang/events.hpp"
#include "gang/gang_config.hpp"
#include "gang/net/leader_links.hpp"
#include "gang/net/other_leader.hpp"
#include "gang/net/resolver.hpp"
#include "gang/protocol/leader.hpp"
#include "gang/protocol/participant.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace muster::gang {

/// Carries out on this node what the gang decides. Its functions call back into the gang through `notify` only.
class NodeActions {
 public:
  virtual ~NodeActions() = default;

  virtual void act(const StartAttempt& wanted) = 0;
  virtual void act(const Value& exchanged) = 0;  ///< while the attempt runs
  virtual void act(const StopAttempt& wanted) = 0;
  virtual void act(const PassSignal& wanted) = 0;
  virtual void act(const KillAttempt& wanted) = 0;
  virtual void act(const SuspendNotice& notice) = 0;  ///< to be passed on to the workers
  virtual void act(const Hung& hung) = 0;             ///< these ranks fail, if they run on this node
  virtual void act(const StallBegun& stall) = 0;      ///< the job stands still, as this node has just logged
  virtual void act(const StatusQuery& wanted) = 0;    ///< to be answered by an event `StatusReport`
  virtual void act(const StatusReport& status) = 0;   ///< of each node, after an event `StatusQuery`
  virtual void act(const KeepBadNode& wanted) = 0;    ///< on the leader
  /// Called more often than the lease's limit while the lease lasts. An empty lease ends it.
  virtual void renew_lease(const Lease& lease) = 0;
  /// Reserves ports for the workers.
  [[nodiscard]] virtual Result<AttemptPorts> reserve_ports() = 0;
  /// The job is over: report it.
  virtual void on_job_end(const JobEnd& end) = 0;
  /// The agent has left the gang, and no other node waits for it any more.
  virtual void on_gang_closed() = 0;
};

/// Returns free heap pages to the kernel after this turn of `io`, if `agents` is large: joins and facts of thousands
/// take more memory than their links, but only for a moment, and fragment the heap.
void return_memory(boost::asio::io_context& io, std::size_t agents);

/// Names that are resolved in parallel.
struct HostLookUp {
  std::deque<Resolver> resolvers;
  std::set<std::string> unresolved;
  std::size_t open = 0;
};

class Gang : private EventQueue {
 public:
  /// `node` outlives it.
  Gang(boost::asio::io_context& io, GangSetup setup, NodeActions& node);

  void start();

  /// Queues an event of this node. It is handled in a later turn of the loop.
  void notify(NodeEvent event);

  /// Names what keeps the agent from leaving, but not its own workers: "goodbye of node 4", "the leader at
  /// 10.0.0.1:29500".
  std::vector<std::string> awaited() const;

  /// Contributes to the exchange (`Contributed`). A value for the start is contributed, or contributed again, before
  /// `start` or while this node is not ready, so that the next attempt has it. Fails with `BadData` for an unknown
  /// key or a value that is too large.
  [[nodiscard]] Result<> contribute(Contributed value);

  /// Returns the nodes of the attempt by node rank, on the leader once an attempt has started; empty on other nodes.
  std::vector<NodePlace> nodes() const;

  /// Names the node of the attempt that joined last, "node 17"; empty if this agent does not lead several nodes.
  std::string last_to_come() const;

 private:
  void add(Event event) override {
    queue_.push_back(std::move(event));
    schedule();
  }
  void schedule();
  void drain();
  void note_standstill();
  void handle(LeaderEvent& event);
  void handle(ParticipantEvent& event);
  void arm(boost::asio::steady_timer& timer, std::optional<Instant>& armed, const std::optional<Instant>& wake,
           Event event);

  // Actions of the leader.
  void act(const SendTo& wanted);
  void act(const Drop& wanted) { links_.drop(wanted.link); }
  void act(const ReservePort& wanted);
  void act(const LookUpHosts& wanted);
  void on_looked_up(const std::string& name, bool is_known);
  void act(const LogLine& wanted) { say(wanted.level, wanted.text); }
  void act(const GangClosed& wanted);

  // Actions of the participant.
  void act(const Dial& wanted);
  void act(const SendToLeader& wanted);
  void act(const CloseLink& /*wanted*/) { to_leader_.close_link(); }
  void act(const Leave& wanted);
  void act(const auto& request) { node_.act(request); }

  // Choice of the leader.
  void lead_always();
  DialFailed describe_failure(const ListenFailure& failure);
  void ask_other_leader(const std::string& incarnation, const std::string& remark);
  void lead_or_connect();
  void lead_as_reached(const LeaderEvent* arrival);
  std::optional<ListenFailure> lead();

  void finish();

  boost::asio::io_context& io_;
  GangSetup setup_;
  NodeActions& node_;
  Participant participant_;
  std::optional<Leader> leader_;
  std::string incarnation_;  ///< of the last join that was sent
  std::deque<Event> queue_;
  StandstillWatch standstill_;
  bool is_scheduled_ = false;
  bool has_left_ = false;
  bool is_dissolved_ = false;
  bool is_done_ = false;

  LeaderLinks links_;
  LinkToLeader to_leader_;
  std::string port_holder_;  ///< process that has the leader's port, as last found
  Instant port_held_since_{};
  std::unique_ptr<OtherLeader> other_leader_;  ///< null: this node has the address of the leader, or is not node 0
  std::unique_ptr<HostLookUp> look_up_;

  boost::asio::steady_timer leader_timer_;
  boost::asio::steady_timer participant_timer_;
  std::optional<Instant> leader_wake_;
  std::optional<Instant> participant_wake_;
};

}  // namespace muster::gang
