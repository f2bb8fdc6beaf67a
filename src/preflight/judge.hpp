#pragma once

// Finds the nodes that differ from the others. Pure.

#include "gang/preflight_values.hpp"

#include <vector>

namespace muster::preflight {

/// Compares fact by fact. Of n nodes of a role, three at least, up to max(1, n/8) are outliers where all others agree. A
/// node of which a fact is not known takes no part in its comparison. Node 0 may be another kind of machine unless
/// `is_strict`.
gang::PreflightVerdict judge(const std::vector<gang::ToldFacts>& told, bool is_strict = false);

}  // namespace muster::preflight
