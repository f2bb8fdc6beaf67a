// Decides which files of compilers' caches are kept, by their names and times alone.
#include "compile_cache/cache_table.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace muster::compile_cache {
namespace {

std::vector<std::string> texts_in(const json::object& object, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto* const list = array_of(object, key)) {
    for (const json::value& one : *list) {
      texts.emplace_back(text_of(&one));
    }
  }
  return texts;
}

const CacheRow* row_of(const CacheTable& table, std::string_view path) {
  const auto row = std::ranges::find(table.rows, path.substr(0, path.find('/')), &CacheRow::folder);
  return row == table.rows.end() || path.size() == row->folder.size() ? nullptr : &*row;
}

bool matches_any(std::string_view name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches_pattern(name, pattern); });
}

/// The file's name.
std::string_view name_in(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// The builds that are not finished: their last file is missing, or somebody has locked them.
std::unordered_set<std::string> find_unfinished(const CacheTable& table, const std::vector<CacheFile>& found,
                                                std::int64_t latest) {
  std::map<std::string, bool, std::less<>> is_finished;
  for (const CacheFile& file : found) {
    const std::string_view build = build_of(table, file.path);
    if (build.empty()) {
      continue;
    }
    bool& is_whole = is_finished.try_emplace(std::string(build), false).first->second;
    is_whole = is_whole || matches_any(name_in(file.path), row_of(table, file.path)->whole);
  }
  std::unordered_set<std::string> unfinished;
  for (const CacheFile& file : found) {
    const std::string build(build_of(table, file.path));
    const bool is_busy = name_in(file.path) == "lock" || file.mtime > latest;
    if (!build.empty() && (is_busy || !is_finished[build])) {
      unfinished.insert(build);
    }
  }
  return unfinished;
}

/// The first items that fit into the room. A build of which a file does not fit is left out.
template <typename Item>
std::vector<Item> take_first(const CacheTable& table, const std::vector<Item>& items, std::uint64_t room) {
  std::unordered_set<std::string_view> broken;
  std::vector<Item> taken;
  for (const Item& item : items) {
    if (item.size <= room && taken.size() < kMostEntries) {
      room -= item.size;
      taken.push_back(item);
    } else {
      room = 0;
      broken.insert(build_of(table, item.path));
    }
  }
  broken.erase("");
  std::erase_if(taken, [&](const Item& item) { return broken.contains(build_of(table, item.path)); });
  return taken;
}

}  // namespace

Result<CacheTable> read_table(std::string_view yaml) {
  const auto document = TRY(parse_yaml(yaml, "compile_caches.yaml"));
  const auto* const root = document.root.if_object();
  if (root == nullptr || array_of(*root, "caches") == nullptr) {
    return Error{ErrorKind::BadData, "no caches"};
  }
  CacheTable table{texts_in(*root, "skip"), {}};
  for_each_object(array_of(*root, "caches"), [&](const json::object& row) {
    table.rows.push_back({std::string(text_of(row, "variable")), std::string(text_of(row, "folder")),
                          std::string(text_of(row, "beside")), texts_in(row, "skip"), texts_in(row, "whole")});
  });
  return table;
}

const CacheTable& builtin_table() {
  static const CacheTable table = read_table(compile_cache_table()).value();
  return table;
}

bool may_be_kept(const CacheTable& table, std::string_view path) {
  const CacheRow* const row = row_of(table, path);
  if (row == nullptr || !problem_of_path(path).empty()) {
    return false;
  }
  for (std::string_view rest = path.substr(row->folder.size() + 1);;) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (matches_any(name, table.skip) || matches_any(name, row->skip)) {
      return false;
    }
    if (name.size() == rest.size()) {
      return true;
    }
    rest.remove_prefix(name.size() + 1);
  }
}

std::string_view build_of(const CacheTable& table, std::string_view path) {
  const CacheRow* const row = row_of(table, path);
  if (row == nullptr || row->whole.empty()) {
    return {};
  }
  const std::size_t end = path.rfind('/');
  return end == row->folder.size() ? std::string_view() : path.substr(0, end);
}

std::string place_of(const CacheTable& table, std::string_view path, std::string_view user) {
  constexpr std::string_view kUser = "USER";
  const CacheRow* const row = row_of(table, path);
  if (row == nullptr || row->beside.empty()) {
    return std::string(row == nullptr ? "" : path);
  }
  if (user.empty()) {
    return {};
  }
  std::string place = "../" + row->beside;
  place.replace(place.find(kUser), kUser.size(), user);
  return place.append(path.substr(row->folder.size()));
}

bool is_complete_output(std::string_view path, std::string_view content) {
  constexpr std::string_view kHeaderMark = "gpch";  // "gpcW" while GCC writes
  if (path.ends_with(".gch")) {
    return content.starts_with(kHeaderMark);
  }
  const bool is_program = path.ends_with(".so") || path.ends_with(".o") || path.ends_with(".cubin");
  Elf64_Ehdr header{};
  if (!is_program) {
    return true;
  }
  if (content.size() < sizeof header || !content.starts_with(ELFMAG)) {
    return false;
  }
  std::memcpy(&header, content.data(), sizeof header);  // whose machine has our byte order
  const std::uint64_t sections = std::uint64_t{header.e_shnum} * header.e_shentsize;
  return header.e_shoff > 0 && header.e_shoff <= content.size() && sections <= content.size() - header.e_shoff;
}

std::vector<CacheFile> choose_new(const CacheTable& table, std::vector<CacheFile> found,
                                  const std::unordered_set<std::string>& packed, std::int64_t latest) {
  auto left_out = find_unfinished(table, found, latest);
  for (const std::string& path : packed) {
    left_out.emplace(build_of(table, path));
  }
  left_out.erase("");  // no build
  std::erase_if(found, [&](const CacheFile& file) {
    return packed.contains(file.path) || file.size > kMostEntryBytes || file.mtime > latest ||
           !may_be_kept(table, file.path) || left_out.contains(std::string(build_of(table, file.path)));
  });
  std::ranges::sort(found, std::ranges::greater(), &CacheFile::mtime);
  return take_first(table, found, kMostPacked);
}

std::vector<PackedEntry> choose_newest(const CacheTable& table, const std::vector<const PackIndex*>& packs,
                                       std::uint64_t room) {
  std::vector<PackedEntry> all;
  for (std::size_t pack = 0; pack < packs.size(); ++pack) {
    for (const PackEntry& entry : packs[pack]->entries) {
      all.push_back({pack, &entry, entry.path, entry.size});
    }
  }
  std::unordered_set<std::string_view> seen;
  std::erase_if(all, [&](const PackedEntry& one) { return !seen.insert(one.path).second; });
  std::ranges::stable_sort(all, std::ranges::greater(), [](const PackedEntry& one) { return one.entry->mtime; });
  return take_first(table, all, room);
}

}  // namespace muster::compile_cache
