#pragma once

// Finds the nodes whose links are slow, far or lossy, or that do not answer. Pure.

#include "gang/link_check.hpp"

#include <vector>

namespace muster::preflight {

/// Of n nodes up to max(1, n/8) are outliers, where each has bad links in all rounds in which it measured, at least two and
/// half of them, and links without it show what is usual. A node with one good link is not bad by itself: where such nodes have
/// bad links to each other, none is an outlier. What one node tells can make others no outliers: a pair is as good as both
/// say, and silent if both say so.
gang::LinkVerdict judge_links(const std::vector<gang::ToldLinks>& told, const gang::LinkRounds& rounds);

}  // namespace muster::preflight
