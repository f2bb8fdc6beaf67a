#pragma once

// Finds the nodes whose links are slow, far or lossy, or that do not answer. Pure.

#include "gang/link_check.hpp"

#include <vector>

namespace muster::preflight {

/// Among n nodes, up to max(1, n/8) are outliers. An outlier has bad links in all rounds in which it measured, at
/// least in two and in half of the rounds, while links between the others show what is usual. A node with one good
/// link is not bad by itself: if such nodes have bad links to each other, none is an outlier. One node alone cannot
/// make others outliers: of the two reports on a link the worse one counts, and it is silent only if both ends say
/// so.
gang::LinkVerdict judge_links(const std::vector<gang::NodeLinkResults>& told, const gang::LinkRounds& rounds);

}  // namespace muster::preflight
