// The trailer and the index of a pack, which lies on a shared file system: anything may be in them.
#include "compile_cache/pack.hpp"

#include "compile_cache/cache_table.hpp"
#include "fuzz.hpp"

#include <algorithm>
#include <set>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using namespace muster::compile_cache;
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto trailer = read_trailer(text, std::uint64_t{1} << 20U)) {
    fuzz::require(trailer->index_bytes <= kMostIndexBytes, "an index has a limit");
  }
  // The sizes of the entries decide how long the pack is, so the first number of each line is added up.
  std::uint64_t bytes = kPackMark.size() + text.size() + kTrailerBytes;
  for (std::string_view rest = text; !rest.empty();
       rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1)) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < rest.size() && i < 9 && rest[i] >= '0' && rest[i] <= '9'; ++i) {
      number = number * 10 + static_cast<std::uint64_t>(rest[i] - '0');
    }
    bytes += number;
  }
  const auto index = read_index(text, bytes);
  if (!index) {
    return 0;
  }
  std::set<std::string> paths;
  for (const PackEntry& entry : index->entries) {
    fuzz::require(problem_of_path(entry.path).empty(), "a path stays below the folder");
    fuzz::require(entry.path.find("..") == std::string::npos || entry.path.find("/../") == std::string::npos,
                  "so it does");
    fuzz::require(paths.insert(entry.path).second, "a path is there once");
    fuzz::require(entry.offset + entry.size + kTrailerBytes <= bytes, "an entry lies within the pack");
    (void)may_be_kept(builtin_table(), entry.path);
  }
  const std::string again = write_index(*index);
  const auto same = read_index(again, bytes - text.size() + again.size());
  fuzz::require(same.has_value() && write_index(*same) == again, "what is written is read again");
  return 0;
}
