#pragma once

// Finds out whether a process failed because of its node, and not because of its program. Pure.

#include "supervise/job_end.hpp"

#include <optional>
#include <string>

namespace muster {

struct NodeReason {
  std::string text;           ///< the line that shows the reason, cut to 200 bytes
  std::optional<int> rank{};  ///< the global rank whose device is broken, if the line names one
};

/// Looks for a broken device in the last lines of the process and in its error file, by the patterns `node` of
/// failure_patterns.txt. Empty: nothing shows one, or the failure has another reason: the process was out of memory,
/// had lost a peer, hung, got a signal that muster passed on, or never ran.
std::optional<NodeReason> find_node_reason(const Failure& failure);

}  // namespace muster
