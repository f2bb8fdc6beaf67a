// Answers questions about a job over all of its start methods.
#include "run/run_context.hpp"

#include <algorithm>

namespace muster {

bool JobPlan::may_need(bool LaunchPlan::*what) const {
  return plan.*what ||
         std::any_of(others.begin(), others.end(), [what](const MpiStartMethod& other) { return other.plan.*what; });
}

}  // namespace muster
