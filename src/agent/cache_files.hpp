#pragma once

// Files of compilers' caches: adds what is in packs to the folder of this node, and packs what is new there (docs/first-step.md).
// All of it blocks, so it runs in a helper process. Private to src/agent.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::compile_cache {

struct CachePlaces {
  std::string folder;  ///< of this node
  std::string store;   ///< shared, with the packs
  std::string user;    ///< of caches beside `folder`; empty: they are left alone
};

/// Counts the entries that were added or kept; an answer of a helper process as text.
struct CacheReport {
  std::size_t entries = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> remarks;  ///< sentences about packs and files that were left alone
  bool is_refused = false;           ///< the store is not used in this job any more
};
std::string write_report(CacheReport report);
CacheReport read_report(const std::string& answer);

/// Makes the store if it is missing, finds out whether it takes a file, and removes what earlier jobs have left unfinished there.
CacheReport try_store(const CachePlaces& places);

/// Adds entries that the folder lacks. A file that is there stays as it is. An entry comes into the folder under its name when it is
/// whole and has its checksum.
CacheReport fill_folder(const CachePlaces& places);

/// A file that has changed within this time may not be finished, as long as a worker runs.
inline constexpr std::chrono::seconds kSettled{5};

/// Writes what is in no pack yet, and was last changed before `latest`, as a pack, which gets its name when it is on the disk. After
/// `most_time` it adds no more: the rest is left to a later call. Merges packs that have become many or large.
CacheReport keep_new(const CachePlaces& places, std::chrono::system_clock::time_point latest,
                     std::chrono::seconds most_time);

}  // namespace muster::compile_cache
