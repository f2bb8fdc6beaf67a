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

/// A row of the table, see there.
struct CacheRow {
  std::string variable;  ///< empty: none names the folder
  std::string folder;
  std::string beside;  ///< where it is instead, from the folder that has the node's; empty: below the node's
  std::vector<std::string> skip;
  std::vector<std::string> whole;  ///< empty: each file is an entry of its own
};

struct CacheTable {
  std::vector<std::string> skip;
  std::vector<CacheRow> rows;
};

/// Fails with `BadData`.
[[nodiscard]] Result<CacheTable> read_table(std::string_view yaml);

/// The table that is part of the program.
const CacheTable& builtin_table();

/// False for a lock or an unfinished file, and for what is in no cache of the table.
bool may_be_kept(const CacheTable& table, std::string_view path);

/// The file's place, from the folder of the node: "inductor/ab/x.py", or "../torchinductor_me/precompiled_headers/ab/x.h" of the user
/// "me". Empty: it has none, as the user is not known or it is in no cache of the table.
std::string place_of(const CacheTable& table, std::string_view path, std::string_view user);

/// False for an ELF file or a precompiled header (.gch) that is incomplete, as a killed compiler leaves it; true for every other file.
bool is_complete_output(std::string_view path, std::string_view content);

/// The folder of the build that the file is a part of, such as "triton/4XV7"; empty: it is an entry of its own.
std::string_view build_of(const CacheTable& table, std::string_view path);

/// A file in the folder of the node.
struct CacheFile {
  std::string path;  ///< below the folder
  std::uint64_t size = 0;
  std::int64_t mtime = 0;  ///< nanoseconds since 1970
};

/// Bytes of all packs together; beyond them the oldest entries are dropped.
inline constexpr std::uint64_t kMostPacked = std::uint64_t{2} << 30U;

/// The files that are to be kept: whole, not changed after the time `latest`, and in no pack yet. Newest first. A build of which a pack has
/// a file is in that pack: it is kept as it was then.
std::vector<CacheFile> choose_new(const CacheTable& table, std::vector<CacheFile> found,
                                  const std::unordered_set<std::string>& packed, std::int64_t latest);

/// An entry of one of several packs.
struct PackedEntry {
  std::size_t pack = 0;
  const PackEntry* entry = nullptr;
  std::string_view path;
  std::uint64_t size = 0;
};

/// The entries of the packs, each path once and the newest first, up to `room` bytes: older ones are dropped, and builds that
/// would lose a file.
std::vector<PackedEntry> choose_newest(const CacheTable& table, const std::vector<const PackIndex*>& packs,
                                       std::uint64_t room);

}  // namespace muster::compile_cache

namespace muster {

/// templates/compile_caches.yaml.
std::string_view compile_cache_table();

}  // namespace muster
