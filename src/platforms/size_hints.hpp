#pragma once

// Variables that say how many there are, whoever's they are: a job that is smaller than one of them says
// would train alone, and nobody would notice.

#include "platforms/platform.hpp"
#include "platforms/roles.hpp"

#include <string>
#include <vector>

namespace muster {

/// A variable, or a mounted file, that counts nodes or processes, or lists them.
struct Counter {
  Sourced<std::string> text;  ///< as it is set, shortened
  int count = 0;              ///< 0: it is no number and no list
  bool counts_processes = false;
  const Platform* owner = nullptr;  ///< empty: known by the shape of its name alone
  bool is_guess = false;            ///< the file that it names cannot be read
};

/// All of a snapshot, which has to live longer: those that the platforms name, and those whose names look
/// like it (*_NNODES, *_NUM_NODES, *_WORLD_SIZE, *_NODE_COUNT, *_HOSTS).
struct Counters {
  const Snapshot& snapshot;
  std::vector<Counter> all;
};

[[nodiscard]] Counters find_counters(const Snapshot& snapshot);

/// Fails when one of them says more than the job has and belongs to no platform that was read. What
/// the user says about nodes, or about the platform, holds against all of them.
[[nodiscard]] Result<> check_not_alone(const PlatformFacts& facts, const Choice& choice, const JobRoles& roles,
                                       int slots, const Counters& counters);

// What looked relevant and made no decision.

/// What looked relevant and is in none of these, with the reason.
[[nodiscard]] std::vector<UnusedValue> find_unused(const std::vector<Decision>& decisions,
                                                   const std::vector<UnusedValue>& lost, const Choice& choice,
                                                   const Counters& counters);

}  // namespace muster
