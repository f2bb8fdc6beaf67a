#pragma once

// Reads the facts of this node from files, without running a program or opening a driver.

#include "preflight/host_facts.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster::preflight {

/// Facts that the caller knows, and the places where the rest is read.
struct FactSources {
  std::string root;                ///< the directory that stands for "/"
  std::string version;             ///< of this program
  std::string interpreter;         ///< path of the workers' Python below `root`; empty: they have none
  double open_files = kNoLimit;    ///< limit that workers inherit
  double cpus = 0;                 ///< that workers may use, by affinity and quota
  std::uint64_t memory_limit = 0;  ///< of the control group, in bytes; 0: no limit
};

/// Reads small files of /proc, /sys and of installations. Takes a few milliseconds; blocks as long as the file system of
/// the interpreter hangs. What cannot be read is no fact.
Facts read_facts(const FactSources& sources);

/// Asks the file systems of folders for their free room. `folders`: by the fact about it, "room for logs". Blocks as long as
/// one hangs.
Facts read_room(const std::map<std::string, std::string>& folders);

}  // namespace muster::preflight
