#pragma once

// The table of compilers' caches (templates/compile_caches.yaml), and the rules about their files. Pure.

#include "base/result.hpp"
#include "compile_cache/pack.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace muster::compile_cache {

/// A row of templates/compile_caches.yaml, which describes the fields.
struct CacheRow {
  std::string variable;  ///< the variable that names the cache's folder; empty: there is none
  std::string folder;
  std::string beside;  ///< where it is instead, relative to the node's folder; empty: below that
  std::vector<std::string> skip;
  std::vector<std::string> whole;  ///< last files of its builds; empty: each file is an entry of its own
};

struct CacheTable {
  std::vector<std::string> skip;
  std::vector<CacheRow> rows;
};

/// Fails with `BadData`.
[[nodiscard]] Result<CacheTable> read_table(std::string_view yaml);

/// The table that the program contains.
const CacheTable& builtin_table();

/// True for a file in a cache of the table, unless it is a lock or unfinished.
bool may_be_kept(const CacheTable& table, std::string_view path);

/// The file's path, relative to the folder of the node: "inductor/ab/x.py", or for the user "me"
/// "../torchinductor_me/precompiled_headers/ab/x.h". Empty: the user is not known, or no cache of the table has it.
std::string place_of(const CacheTable& table, std::string_view path, std::string_view user);

/// True unless an ELF file or a precompiled header (.gch) is incomplete, as a killed compiler leaves it.
bool is_complete_output(std::string_view path, std::string_view content);

/// The folder of the build to which the file belongs, such as "triton/4XV7"; empty: the file is an entry of its own.
std::string_view build_of(const CacheTable& table, std::string_view path);

/// A file in the folder of the node.
struct CacheFile {
  std::string path;  ///< below the folder
  std::uint64_t size = 0;
  std::int64_t mtime = 0;  ///< nanoseconds since 1970
};

/// Limit of all packs together, in bytes: above it the oldest entries are dropped.
inline constexpr std::uint64_t kMostPacked = std::uint64_t{2} << 30U;

/// The files to be kept, the newest first: whole, not changed after the time `latest`, and in no pack yet. A build of
/// which a pack has any file is left out, because it is kept as it was then.
std::vector<CacheFile> choose_new(const CacheTable& table, std::vector<CacheFile> found,
                                  const std::unordered_set<std::string>& packed, std::int64_t latest);

/// An entry of one of several packs.
struct PackedEntry {
  std::size_t pack = 0;
  const PackEntry* entry = nullptr;
  std::string_view path;
  std::uint64_t size = 0;
};

/// The entries of the packs, each path once, the newest first, up to `room` bytes. Older entries are dropped, and so
/// is each build that would lose a file.
std::vector<PackedEntry> choose_newest(const CacheTable& table, const std::vector<const PackIndex*>& packs,
                                       std::uint64_t room);

}  // namespace muster::compile_cache

namespace muster {

/// templates/compile_caches.yaml.
std::string_view compile_cache_table();

}  // namespace muster
