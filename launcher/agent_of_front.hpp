#pragma once

// muster as an agent that the front of a job has started on its host.

#include "base/unique_fd.hpp"
#include "environment/snapshot.hpp"
#include "remote/order.hpp"

#include <span>

namespace muster {

/// What it has been told, and where it hears more.
struct RemoteOrder {
  AgentOrder order;
  UniqueFd launcher;
};

/// True when a front has started this program: its order comes on standard input.
[[nodiscard]] bool is_agent_of_front(std::span<char* const> argv);

/// Reads the order, and goes to the folder of the job. Standard input is /dev/null afterwards. Fails when
/// the front is gone, and for a folder that is not there.
[[nodiscard]] Result<RemoteOrder> read_remote_order();

/// The surroundings of this process, with the variables of the order.
[[nodiscard]] Snapshot take_snapshot(const AgentOrder& order);

}  // namespace muster
