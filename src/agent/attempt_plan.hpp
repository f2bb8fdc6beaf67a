#pragma once

// Makes the plan of an attempt on this node, once the nodes have met. Private to src/agent.

#include "agent/startup_exchange.hpp"
#include "gang/events.hpp"
#include "plan/launch_plan.hpp"
#include "run/run_context.hpp"

namespace muster {

/// Makes the plan from values that the nodes exchanged and from facts of this system. Adds the job's variables for
/// the workers, makes the folders of the ranks, and logs where the workers meet.
LaunchPlan plan_of_attempt(const RunContext& run, const StartupExchange& startup, const gang::StartAttempt& wanted);

/// The plan of the first attempt, as far as it is known before the nodes have met; the folders of the ranks are not made.
LaunchPlan expected_plan(const RunContext& run);

}  // namespace muster
