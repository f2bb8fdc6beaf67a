#pragma once

// Moves files of compilers' caches: from packs into the folder of this node, and from there into a new pack
// (docs/first-step.md). All of it blocks, so it runs in a helper process. Private to src/agent.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::compile_cache {

struct CachePlaces {
  std::string folder;  ///< where this node has its caches
  std::string store;   ///< shared, with the packs
  std::string user;    ///< whose caches beside `folder` are used, too; empty: none are
};

/// Counts the entries that were added or kept. A helper process sends it as text.
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

/// Adds entries that the folder lacks, and leaves existing files as they are. An entry gets its name in the folder
/// when it is whole and its checksum is right.
CacheReport fill_folder(const CachePlaces& places);

/// Time since the last change after which a file counts as finished, although workers run.
inline constexpr std::chrono::seconds kUnchangedFor{5};

/// Writes a pack of the files that are in no pack yet and were last changed before `latest`; the pack gets its name
/// when it is on the disk. After `most_time` it adds no more files: a later call adds them. Merges packs that are
/// many or large.
CacheReport keep_new(const CachePlaces& places, std::chrono::system_clock::time_point latest,
                     std::chrono::seconds most_time);

}  // namespace muster::compile_cache
