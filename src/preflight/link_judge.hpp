#pragma once

// Finds the nodes whose links are slow, far or lossy, or that do not answer. Pure.

#include "gang/link_check.hpp"

#include <vector>

namespace muster::preflight {

/// Of n nodes up to max(1, n/8) are outliers, where each has bad links in all rounds in which it measured, two at least, and
/// links without it show what is usual. What one node tells can make others no outliers: a pair is as good as both say.
std::vector<Outlier> judge_links(const std::vector<gang::ToldLinks>& told, const gang::LinkRounds& rounds);

}  // namespace muster::preflight
