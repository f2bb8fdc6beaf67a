#pragma once

// Finds variables of any platform that count nodes or processes. A job with fewer nodes than such a variable says
// would silently train alone.

#include "platforms/platform.hpp"
#include "platforms/roles.hpp"

#include <string>
#include <vector>

namespace muster {

/// A variable, or a mounted file, that counts nodes or processes, or lists them.
struct Counter {
  Sourced<std::string> text;  ///< the value, shortened
  int count = 0;              ///< 0: neither a number nor a list
  bool counts_processes = false;
  const Platform* owner = nullptr;  ///< null: recognised only by its name's form
  bool is_guess = false;            ///< the file that it names is unreadable
  bool is_alone = false;            ///< of no platform, and no index or list with the same prefix confirms it
};

/// All counters of a snapshot, which must outlive them: variables that a platform names, and variables whose names
/// speak of nodes (*_NNODES, *_NODE_COUNT, *_NODELIST) or that an index or list with the same prefix confirms.
struct Counters {
  const Snapshot& snapshot;
  std::vector<Counter> all;
};

Counters find_counters(const Snapshot& snapshot);

/// Fails if a counter is larger than the job and belongs to no platform that was read; one that nothing confirms
/// (`is_alone`) only gets the remark that is returned. The user's values about nodes, or choice of a platform,
/// override all counters.
[[nodiscard]] Result<std::string> check_not_alone(const PlatformFacts& facts, const Choice& choice,
                                                  const JobRoles& roles, int slots, const Counters& counters);

// Relevant values that decided nothing.

/// Values that look relevant, but are not among the decisions and lost values, each with the reason.
std::vector<UnusedValue> find_unused(const std::vector<Decision>& decisions, const std::vector<UnusedValue>& lost,
                                     const Choice& choice, const Counters& counters);

}  // namespace muster
