#pragma once

// Which successes the gang is told. Private to run/.

#include "process/workers.hpp"

#include "gang/events.hpp"
#include "plan/launch_plan.hpp"
#include "supervise/supervisor.hpp"

#include <optional>
#include <set>
#include <string>

namespace muster {

/// The gang is told about those that matter to it, not about thousands: the first one of each role
/// of this node, rank 0, and the last one.
class SuccessReports {
 public:
  SuccessReports(const LaunchPlan& plan, const Workers& workers) : plan_(plan), workers_(workers) {}

  /// What the gang is told, without its `attempt`; empty: nothing.
  [[nodiscard]] std::optional<gang::Succeeded> message_for(const ReportSuccess& success);

 private:
  const LaunchPlan& plan_;
  const Workers& workers_;
  std::set<std::string> announced_roles_;
};

}  // namespace muster
