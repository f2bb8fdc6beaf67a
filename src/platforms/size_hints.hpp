#pragma once

// Finds variables that count nodes or processes, of any platform: a job that is smaller than one of them says would
// silently train alone.

#include "platforms/platform.hpp"
#include "platforms/roles.hpp"

#include <string>
#include <vector>

namespace muster {

/// A variable, or a mounted file, that counts nodes or processes, or lists them.
struct Counter {
  Sourced<std::string> text;  ///< as it is set, shortened
  int count = 0;              ///< 0: neither a number nor a list
  bool counts_processes = false;
  const Platform* owner = nullptr;  ///< null: recognised only by its name's form
  bool is_guess = false;            ///< the file that it names is unreadable
  bool is_alone = false;            ///< of no platform, and no index or list of the same prefix is beside it
};

/// All counters of a snapshot, which must outlive them: those that the platforms name, and those whose names speak of
/// nodes (*_NNODES, *_NODE_COUNT, *_NODELIST) or count what an index or a list beside them tells apart.
struct Counters {
  const Snapshot& snapshot;
  std::vector<Counter> all;
};

Counters find_counters(const Snapshot& snapshot);

/// Fails when a counter exceeds the job's size and belongs to no platform that was read. One that is alone is worth a
/// remark, which is empty otherwise. The user's values about nodes, or about the platform, override all counters.
[[nodiscard]] Result<std::string> check_not_alone(const PlatformFacts& facts, const Choice& choice,
                                                  const JobRoles& roles, int slots, const Counters& counters);

// Relevant values that decided nothing.

/// Values that look relevant and are in none of these, each with the reason.
std::vector<UnusedValue> find_unused(const std::vector<Decision>& decisions, const std::vector<UnusedValue>& lost,
                                     const Choice& choice, const Counters& counters);

}  // namespace muster
