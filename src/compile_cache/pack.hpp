#pragma once

// The format of a pack: the entries of compilers' caches in one file (docs/first-step.md). Pure.
//
//   kPackMark | content of each entry, one after the other | index | trailer
//
// The index is text. Its checksum is in the trailer, and it has the checksum of each entry, so the trailer vouches for the whole file.

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::compile_cache {

inline constexpr std::string_view kPackMark = "muster pack 1\n";
inline constexpr std::size_t kTrailerBytes = 88;

// Limits of a pack. One beyond them is left alone.
inline constexpr std::size_t kMostEntries = 100'000;
inline constexpr std::size_t kMostIndexBytes = std::size_t{32} << 20U;
inline constexpr std::uint64_t kMostEntryBytes = std::uint64_t{256} << 20U;
inline constexpr std::uint64_t kMostPackBytes = std::uint64_t{4} << 30U;

struct PackEntry {
  std::string path;  ///< below the folder of the node: "inductor/ab/cab.py"
  std::uint64_t size = 0;
  unsigned mode = 0;         ///< permissions
  std::int64_t mtime = 0;    ///< nanoseconds since 1970
  std::string sha256;        ///< hexadecimal
  std::uint64_t offset = 0;  ///< of its content in the pack; written by nobody, since it follows from the sizes
};

struct PackIndex {
  std::string machine;  ///< one line; entries of another machine are not used
  std::uint64_t user = 0;
  std::vector<PackEntry> entries;
};

/// Why a file with this path below a folder is refused: it is absolute, leads out of the folder or is too long. Empty: it is not.
std::string problem_of_path(std::string_view path);

std::string write_index(const PackIndex& index);

/// `sha256`: of the index, hexadecimal.
std::string write_trailer(std::size_t index_bytes, std::string_view sha256);

struct Trailer {
  std::size_t index_bytes = 0;
  std::string sha256;
};
/// The last kTrailerBytes of a pack with `file_bytes` bytes. Fails with `BadData`.
[[nodiscard]] Result<Trailer> read_trailer(std::string_view text, std::uint64_t file_bytes);

/// Fails with `BadData` for anything that `write_index` does not write, such as a path twice, and where the sizes do not
/// add up to `file_bytes`. Takes time in proportion to the text.
[[nodiscard]] Result<PackIndex> read_index(std::string_view text, std::uint64_t file_bytes);

}  // namespace muster::compile_cache
