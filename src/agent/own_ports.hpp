#pragma once

// The ports on which workers of this node listen, and those of the other nodes. Private to run/.

#include "gang/exchange_values.hpp"
#include "agent/run.hpp"
#include "services/worker_port.hpp"

#include <string>
#include <vector>

namespace muster {

/// Reserves them as long as it lives: they are the same for all attempts.
class PortExchange {
 public:
  /// `job` outlives this.
  explicit PortExchange(const JobPlan& job);

  /// What this node tells the others: its ports, its slots and its name `host`; empty: nobody needs to know.
  /// Fails where ports could not be reserved.
  [[nodiscard]] Result<std::string> contribution(const std::string& host) const;

  /// By node rank; empty: nobody has told any.
  [[nodiscard]] static std::vector<NodePorts> of_all(const gang::Exchanged& merged);

 private:
  const JobPlan& job_;
  Result<std::vector<WorkerPort>> reserved_;
};

}  // namespace muster
