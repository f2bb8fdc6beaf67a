// Answers for all start methods of a job together.
#include "run/run_context.hpp"

#include <algorithm>

namespace muster {

bool JobPlan::may_need(bool LaunchPlan::*what) const {
  return plan.*what ||
         std::any_of(others.begin(), others.end(), [what](const MpiStartMethod& other) { return other.plan.*what; });
}

}  // namespace muster
