#pragma once

// The format of a pack: the entries of compilers' caches in one file (docs/first-step.md). Pure.
//
//   kPackMark | content of each entry, one after the other | index | trailer
//
// The index is text. It has the checksum of each entry, and the trailer that of the index: it vouches for the file.

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::compile_cache {

inline constexpr std::string_view kPackMark = "muster pack 1\n";
inline constexpr std::size_t kTrailerBytes = 88;

// Limits of a pack. A larger one is not used.
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
  std::uint64_t offset = 0;  ///< place of its content in the pack; not written, because it follows from the sizes
};

struct PackIndex {
  std::string machine;  ///< one line; entries of another machine are not used
  std::uint64_t user = 0;
  std::vector<PackEntry> entries;
};

/// The reason to refuse a file with this path: it is absolute, leads out of the folder or is too long. Empty: none.
std::string problem_of_path(std::string_view path);

std::string write_index(const PackIndex& index);

/// `sha256`: of the index, hexadecimal.
std::string write_trailer(std::size_t index_bytes, std::string_view sha256);

struct Trailer {
  std::size_t index_bytes = 0;
  std::string sha256;
};
/// Reads the trailer: the last kTrailerBytes of a pack with `file_bytes` bytes. Fails with `BadData`.
[[nodiscard]] Result<Trailer> read_trailer(std::string_view text, std::uint64_t file_bytes);

/// Reads an index. Fails with `BadData` for a text that `write_index` does not write, such as one with a path twice,
/// and if the sizes do not add up to `file_bytes`. The time is proportional to the text.
[[nodiscard]] Result<PackIndex> read_index(std::string_view text, std::uint64_t file_bytes);

}  // namespace muster::compile_cache
