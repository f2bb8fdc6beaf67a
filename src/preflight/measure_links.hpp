#pragma once

// Measures the links between this node and its partners, for --preflight links.

#include "gang/link_check.hpp"
#include "preflight/link_meeting.hpp"

#include <chrono>
#include <string>

namespace muster::preflight {

/// A pair sends for this time in both directions at once.
inline constexpr std::chrono::milliseconds kLinkTransferTime{150};

/// Measures with each partner in its round, and blocks until the last round has ended. `begin` is the time at which
/// this node was asked: from then on partners meet, and the first round begins one round later. Whoever connects to
/// `listener` without `key` is sent nothing. Call it only in a process without other work.
gang::LinkResults measure_links(int listener, const std::string& key, const gang::LinkPlan& plan,
                                std::chrono::steady_clock::time_point begin);

}  // namespace muster::preflight
