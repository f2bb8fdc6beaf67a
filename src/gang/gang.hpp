#pragma once

// Runs one agent's part in the gang of a job: connects the decisions of leader and participant with sockets and
// timers. Decides nothing.

#include "base/result.hpp"
#include "gang/events.hpp"
#include "gang/gang_config.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster::gang {

/// Requests of the gang to this node. A callback may call back into the gang only through `notify`.
struct GangCallbacks {
  /// Starts the workers, with the values that the nodes exchanged before this start.
  std::function<void(const Start&, const Exchanged&)> start_attempt;
  std::function<void(const StopAttempt&)> stop_attempt;
  std::function<void(int signal)> pass_signal;
  std::function<void()> kill_attempt;
  /// Tells the workers of a notice, or that it was withdrawn.
  std::function<void(const SuspendNotice&)> notify_workers;
  /// The node answers with `StatusReady`.
  std::function<void(const DescribeStatus&)> describe_status;
  /// Delivers one node's status after `StatusWanted`.
  std::function<void(const StatusOfNode&)> status_of_node;
  /// Called more often than the lease's limit while the lease lasts. An empty lease ends it.
  std::function<void(const Lease&)> renew_lease;
  /// Reserves ports for the workers.
  std::function<Result<AttemptPorts>()> reserve_port;
  /// Delivers a value that the nodes exchanged while the attempt runs.
  std::function<void(const Value&)> merged;
  /// The job is over: report it.
  std::function<void(const JobEnd&)> on_job_end;
  /// The agent has left the gang, and no other node waits for it any more.
  std::function<void()> done;
};

class Gang {
 public:
  Gang(boost::asio::io_context& io, GangSetup setup, GangCallbacks callbacks);
  ~Gang();
  Gang(const Gang&) = delete;
  Gang& operator=(const Gang&) = delete;

  void start();

  /// Queues an event of this node. It is handled in a later turn of the loop.
  void notify(NodeEvent event);

  /// Names what keeps the agent from leaving: "goodbye of node 4", "the leader at 10.0.0.1:29500". Workers of this
  /// node are not listed.
  [[nodiscard]] std::vector<std::string> awaited() const;

  /// Contributes to the exchange (`Contributed`). A value for the start is contributed, or contributed again, before
  /// `start` or while this node is not ready, so that the next attempt has it. Fails with `BadData` for an unknown
  /// key or a value that is too large.
  [[nodiscard]] Result<> contribute(Contributed value);

  /// Returns the nodes of the attempt by node rank, on the leader once an attempt has started; empty on other nodes.
  [[nodiscard]] std::vector<NodePlace> nodes() const;

 private:
  class Driver;
  std::unique_ptr<Driver> driver_;
};

}  // namespace muster::gang
