#pragma once

// What a plan tells its user at the start. Private to plan/.

#include "plan/launch_plan.hpp"

namespace muster {

/// The one line at the start: who we think we are. How many workers the whole job has is not known
/// before all nodes have met. It names a mode that nobody has asked muster for. `cores`: those that the workers here have, in words.
void remark_start(LaunchPlan& plan, const PlanInput& input, const std::string& cores);

/// What is odd about the binding, and a binding that no process of this node has.
void remark_binding(LaunchPlan& plan, const JobRequest& job);

}  // namespace muster
