#pragma once

// Finds the nodes that differ from the others. Pure.

#include "gang/preflight_values.hpp"

#include <vector>

namespace muster::preflight {

/// Compares fact by fact. Among n nodes of a role, at least three, up to max(1, n/8) are outliers if all others
/// agree. A node that does not know a fact takes no part in its comparison. Node 0 may be another kind of machine
/// unless `is_strict`.
gang::PreflightVerdict judge(const std::vector<gang::ToldFacts>& told, bool is_strict = false);

}  // namespace muster::preflight
