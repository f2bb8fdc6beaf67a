#pragma once

// The gang of one job, as one of its agents sees it: joins the decisions of the leader and of the
// participant with sockets and timers. Decides nothing.

#include "base/result.hpp"
#include "gang/events.hpp"
#include "gang/gang_config.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace muster::gang {

/// What the gang wants from this node. None of them may call back at once but through `notify`.
struct GangCallbacks {
  /// With what the nodes have brought together before this start.
  std::function<void(const Start&, const Exchanged&)> start_attempt;
  std::function<void(const StopAttempt&)> stop_attempt;
  std::function<void(int signal)> pass_signal;
  std::function<void()> kill_attempt;
  /// Tells the workers of a notice, or that it was withdrawn.
  std::function<void(const SuspendNotice&)> notify_workers;
  /// To be answered by `StatusReady`.
  std::function<void(const DescribeStatus&)> describe_status;
  /// What a node says, since `StatusWanted`.
  std::function<void(const StatusOfNode&)> status_of_node;
  /// Renewed while it lasts, more often than its limit; given back with an empty one.
  std::function<void(const Lease&)> renew_lease;
  /// Reserves ports for the workers.
  std::function<Result<AttemptPorts>()> reserve_port;
  /// What the nodes have brought together while the attempt runs.
  std::function<void(const Value&)> merged;
  /// The job is over: report it.
  std::function<void(const JobEnd&)> on_job_end;
  /// Nobody waits for this agent any more, after `leave`.
  std::function<void()> done;
};

class Gang {
 public:
  Gang(boost::asio::io_context& io, GangSetup setup, GangCallbacks callbacks);
  ~Gang();
  Gang(const Gang&) = delete;
  Gang& operator=(const Gang&) = delete;

  void start();

  /// Tells what happened on this node. It is acted on in a later turn of the loop.
  void notify(NodeEvent event);

  /// What keeps it from being done, by name: "goodbye of node 4", "the leader at 10.0.0.1:29500".
  /// The workers of this node are not in the list.
  [[nodiscard]] std::vector<std::string> awaited() const;

  /// Contributes to the exchange; see `Contributed`. What belongs to the start is contributed, or
  /// contributed anew, before `start` or while this node is not ready: so the next attempt has it. Fails
  /// with `BadData` when there is no such key or the value is too large.
  [[nodiscard]] Result<> contribute(Contributed value);

  /// On the leader, once an attempt has been started: its nodes, by node rank. Empty on other nodes.
  [[nodiscard]] std::vector<NodePlace> nodes() const;

 private:
  class Driver;
  std::unique_ptr<Driver> driver_;
};

}  // namespace muster::gang
