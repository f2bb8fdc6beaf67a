// Moves entries between packs and the folder of this node. Nothing here follows a link.
#include "agent/cache_files.hpp"

#include "agent/cache_packs.hpp"
#include "base/file_io.hpp"
#include "base/json.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "compile_cache/cache_table.hpp"

#include <boost/describe/class.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <utility>

namespace muster::compile_cache {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0700;
constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::size_t kMostFiles = 200'000;
constexpr std::string_view kStaging = ".adding-";
constexpr std::time_t kStaleStaging = 86'400;
constexpr std::size_t kManyPacks = 8;
constexpr std::size_t kMostNotices = 5;

std::int64_t nanoseconds_of(const timespec& time) {
  return time.tv_sec * kNanoseconds + time.tv_nsec;
}

UniqueFd open_folder(int parent, const std::string& name) {
  return UniqueFd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// The folder of this node, and the user whose caches beside it are used.
struct Root {
  UniqueFd file;
  std::string user;
};

/// Opens the folder of this node, if nobody else can write there.
Result<Root> open_root(const CachePlaces& places) {
  if (const std::string problem = problem_of_store(places.store); !problem.empty()) {
    return Error{ErrorKind::BadData, problem};
  }
  Root root{open_folder(AT_FDCWD, places.folder), places.user};
  if (!root.file) {
    return system_error("cannot open '" + places.folder + "'", errno);
  }
  if (!is_writable_by_alone(root.file.get(), ::geteuid())) {
    return Error{ErrorKind::BadData, "'" + places.folder + "' belongs to somebody else"};
  }
  return root;
}

/// The path of an entry, relative to the folder of this node.
std::string place_in(const Root& root, std::string_view path) {
  return place_of(builtin_table(), path, root.user);
}

enum class Missing {
  Stays,
  IsMade
};

/// Opens the folder of the file at `path`, from `root`. On a way beside `root`, each folder must be ours alone.
UniqueFd open_parent(int root, const std::string& path, Missing missing) {
  UniqueFd folder(::fcntl(root, F_DUPFD_CLOEXEC, 3));
  for (std::size_t begin = 0, end = path.find('/'); folder && end != std::string::npos; end = path.find('/', begin)) {
    const std::string name = path.substr(begin, end - begin);
    if (missing == Missing::IsMade) {
      (void)::mkdirat(folder.get(), name.c_str(), kFolderMode);
    }
    folder = open_folder(folder.get(), name);
    if (path.starts_with("..") && begin > 0 && !is_writable_by_alone(folder.get(), ::geteuid())) {
      return {};
    }
    begin = end + 1;
  }
  return folder;
}

std::string name_at_end(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_there(int root, const std::string& path) {
  struct stat status {};
  return ::fstatat(root, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

// --- From packs into the folder -------------------------------------------------------------------

/// A temporary folder beside the caches for entries that are not whole yet. Its destructor removes it.
class Staging {
 public:
  explicit Staging(const std::string& folder, int root) : folder_(folder) {
    const auto digits = random_digits(4);
    name_ = std::string(kStaging) + (digits ? *digits : std::to_string(::getpid()));
    if (::mkdirat(root, name_.c_str(), kFolderMode) == 0) {
      file_ = open_folder(root, name_);
    }
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    std::error_code failed;
    fs::remove_all(fs::path(folder_) / name_, failed);
  }
  int file() const { return file_.get(); }

 private:
  std::string folder_;
  std::string name_;
  UniqueFd file_;
};

void remove_stale_staging(const std::string& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    struct stat status {};
    const bool is_staging = entry->path().filename().string().starts_with(kStaging);
    if (is_staging && ::lstat(entry->path().c_str(), &status) == 0 &&
        status.st_mtime < std::time(nullptr) - kStaleStaging) {
      std::error_code ignored;
      fs::remove_all(entry->path(), ignored);
    }
  }
}

enum class Where {
  Below,  ///< in the folder of this node
  Beside
};

/// Entries of the pack that this node lacks. A build is taken only if none of its files is there.
std::vector<const PackEntry*> find_missing_entries(const PackIndex& index, const Root& root, Where where) {
  const CacheTable& table = builtin_table();
  std::map<std::string, bool> builds;  // whether they are there
  std::vector<const PackEntry*> lacking;
  for (const PackEntry& entry : index.entries) {
    const std::string build(build_of(table, entry.path));
    const auto known = builds.find(build);
    const std::string place = place_in(root, build.empty() ? entry.path : build);
    const bool is_here = !build.empty() && known != builds.end() ? known->second : is_there(root.file.get(), place);
    builds[build] = is_here;
    const bool is_beside = place.starts_with("..");
    const bool is_wanted = !is_here && !place.empty() && is_beside == (where == Where::Beside);
    if (is_wanted && may_be_kept(table, entry.path) &&
        (!is_beside || open_parent(root.file.get(), place, Missing::IsMade))) {
      lacking.push_back(&entry);
    }
  }
  return lacking;
}

Result<> stage_entry(const OpenPack& pack, const PackEntry& entry, int staging) {
  const std::string content = TRY(read_entry(pack, entry));
  const UniqueFd folder = open_parent(staging, entry.path, Missing::IsMade);
  const UniqueFd file(::openat(folder.get(), name_at_end(entry.path).c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivateFileMode));
  if (!file) {
    return system_error("cannot write '" + entry.path + "'", errno);
  }
  if (const auto written = write_all(file.get(), content); written.missing > 0) {
    return system_error("cannot write '" + entry.path + "'", written.error_number);
  }
  const timespec time{entry.mtime / kNanoseconds, entry.mtime % kNanoseconds};
  const std::array<timespec, 2> times{time, time};
  (void)::futimens(file.get(), times.data());  // ninja rebuilds everything if the time differs; others ignore it
  (void)::fchmod(file.get(), (entry.mode & S_IRWXU) | S_IRUSR | S_IWUSR);
  return {};
}

/// Puts a staged entry under its name, or moves the whole build that it belongs to. What is there already stays.
bool place_entry(const std::string& path, int staging, const Root& root) {
  const std::string build(build_of(builtin_table(), path));
  const std::string& moved = build.empty() ? path : build;
  const UniqueFd from = open_parent(staging, moved, Missing::Stays);
  const UniqueFd to = open_parent(root.file.get(), place_in(root, moved), Missing::IsMade);
  const std::string name = name_at_end(moved);
  if (!from || !to) {
    return false;
  }
  if (!build.empty()) {
    (void)::renameat(from.get(), name.c_str(), to.get(), name.c_str());
    return is_there(root.file.get(), place_in(root, path));
  }
  return ::linkat(from.get(), name.c_str(), to.get(), name.c_str(), 0) == 0;
}

std::uint64_t size_of(const std::vector<const PackEntry*>& entries) {
  std::uint64_t size = 0;
  for (const PackEntry* const entry : entries) {
    size += entry->size;
  }
  return size;
}

/// True if these bytes fit on the disk and a twentieth of it stays free.
bool has_disk_room(int root, std::uint64_t bytes) {
  constexpr std::uint64_t kPart = 20;
  struct statvfs disk {};
  if (::fstatvfs(root, &disk) != 0) {
    return false;
  }
  return disk.f_bavail * disk.f_frsize >= bytes + disk.f_blocks * disk.f_frsize / kPart;
}

/// Adds all entries of a pack that this node lacks, in its folder or beside it; if one is broken, adds none.
Result<> add_pack(const OpenPack& pack, const CachePlaces& places, const Root& root, Where where, CacheReport& report) {
  const auto lacking = find_missing_entries(pack.index, root, where);
  if (lacking.empty()) {
    return {};
  }
  if (!has_disk_room(root.file.get(), size_of(lacking))) {
    return Error{ErrorKind::System, "the disk of '" + places.folder + "' has too little room"};
  }
  const Staging staging(places.folder, root.file.get());
  for (const PackEntry* const entry : lacking) {
    TRY(stage_entry(pack, *entry, staging.file()));
  }
  for (const PackEntry* const entry : lacking) {
    if (place_entry(entry->path, staging.file(), root)) {
      ++report.entries;
      report.bytes += entry->size;
    }
  }
  return {};
}

/// Adds the entries that this node lacks, in its folder or beside it. Removes broken packs from `packs`.
void add_packs(std::vector<OpenPack>& packs, const CachePlaces& places, const Root& root, Where where,
               CacheReport& report) {
  std::erase_if(packs, [&](const OpenPack& pack) {
    const auto added = add_pack(pack, places, root, where, report);
    if (!added) {
      report.remarks.push_back("leaving the pack '" + pack.name + "' alone: " + added.error().message);
    }
    return !added;
  });
}

// --- From the folder into a pack ------------------------------------------------------------------

/// Adds the regular files of a cache that belong to this user; nothing else is added.
void add_files_of(std::vector<CacheFile>& files, const std::string& cache, const std::string& folder) {
  std::error_code failed;
  fs::recursive_directory_iterator entry(folder, failed);
  while (!failed && entry != fs::recursive_directory_iterator() && files.size() < kMostFiles) {
    const std::string path = entry->path().string();
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid()) {
      files.push_back({cache + path.substr(folder.size()), static_cast<std::uint64_t>(status.st_size),
                       nanoseconds_of(status.st_mtim)});
    }
    entry.increment(failed);
  }
}

/// The files of all caches.
std::vector<CacheFile> find_files(const CachePlaces& places, const Root& root) {
  std::vector<CacheFile> files;
  for (const CacheRow& row : builtin_table().rows) {
    const std::string place = place_in(root, row.folder + "/");
    if (!place.empty()) {
      add_files_of(files, row.folder, places.folder + "/" + place.substr(0, place.size() - 1));
    }
  }
  return files;
}

/// Reads a file that has not changed since it was found; empty: it is gone, has changed, or a link leads to it.
std::optional<std::string> read_settled(const Root& root, const CacheFile& file, unsigned& mode) {
  const UniqueFd folder = open_parent(root.file.get(), place_in(root, file.path), Missing::Stays);
  const UniqueFd opened(
      ::openat(folder.get(), name_at_end(file.path).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  const auto is_unchanged = [&] {
    struct stat status {};
    const bool is_read = opened && ::fstat(opened.get(), &status) == 0 && S_ISREG(status.st_mode);
    mode = status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
    return is_read && static_cast<std::uint64_t>(status.st_size) == file.size &&
           nanoseconds_of(status.st_mtim) == file.mtime;
  };
  if (!is_unchanged()) {
    return std::nullopt;
  }
  auto [bytes, error_number] = read_up_to(opened.get(), file.size + 1);
  const bool is_whole = error_number == 0 && bytes.size() == file.size && is_unchanged();
  return is_whole ? std::optional(std::move(bytes)) : std::nullopt;
}

struct Content {
  PackEntry entry;
  std::string bytes;
};

/// The build to which the item belongs, otherwise its own path: items of one group are packed together.
template <typename Item>
std::string_view group_of(const Item& item) {
  const std::string_view build = build_of(builtin_table(), item.path);
  return build.empty() ? std::string_view(item.path) : build;
}

/// The contents of all items of a group; none if one of them may not be packed.
template <typename Item, typename Read>
std::vector<Content> read_group(std::span<const Item> items, const Read& read) {
  std::vector<Content> contents;
  for (const Item& item : items) {
    auto content = read(item);
    if (!content) {
      return {};
    }
    contents.push_back(std::move(*content));
  }
  return contents;
}

/// Adds the items to the pack, each build whole or not. `read` returns an item's content; empty: do not pack it.
template <typename Item, typename Read>
Result<> add_items(PackWriter& writer, std::vector<Item> items, const Read& read) {
  std::ranges::stable_sort(items, std::ranges::less(), group_of<Item>);
  for (auto begin = items.cbegin(); begin != items.cend();) {
    const auto end =
        std::find_if(begin, items.cend(), [&](const Item& item) { return group_of(item) != group_of(*begin); });
    const bool has_room = writer.index().entries.size() + static_cast<std::size_t>(end - begin) <= kMostEntries;
    for (Content& content : read_group(std::span<const Item>(begin, has_room ? end : begin), read)) {
      TRY(writer.add(std::move(content.entry), content.bytes));
    }
    begin = end;
  }
  return {};
}

/// The files that are added to a pack, until the time `end`.
struct NewFiles {
  std::vector<CacheFile> files;
  std::chrono::steady_clock::time_point end;
};

Result<> add_files(PackWriter& writer, const NewFiles& added, const Root& root, CacheReport& report) {
  const auto read = [&](const CacheFile& file) -> std::optional<Content> {
    unsigned mode = 0;
    if (std::chrono::steady_clock::now() > added.end) {
      return std::nullopt;
    }
    auto bytes = read_settled(root, file, mode);
    const bool may_be_kept = bytes && is_complete_output(file.path, *bytes);
    return may_be_kept ? std::optional(Content{{file.path, 0, mode, file.mtime, {}}, std::move(*bytes)}) : std::nullopt;
  };
  TRY(add_items(writer, added.files, read));
  for (const PackEntry& entry : writer.index().entries) {
    ++report.entries;
    report.bytes += entry.size;
  }
  return {};
}

/// Copies the entries of these packs into the new one, which replaces them. Leaves out broken entries.
Result<> merge_packs(PackWriter& writer, const std::vector<OpenPack>& packs, std::uint64_t room) {
  std::vector<const PackIndex*> indexes;
  indexes.reserve(packs.size());
  for (const OpenPack& pack : packs) {
    indexes.push_back(&pack.index);
  }
  const auto read = [&](const PackedEntry& one) -> std::optional<Content> {
    auto bytes = read_entry(packs[one.pack], *one.entry);
    return bytes ? std::optional(Content{*one.entry, std::move(*bytes)}) : std::nullopt;
  };
  return add_items(writer, choose_newest(builtin_table(), indexes, room), read);
}

Result<> write_pack(const CachePlaces& places, const NewFiles& added, const std::vector<OpenPack>& packs,
                    const Root& root, CacheReport& report) {
  auto writer = TRY(PackWriter::start(places.store));
  TRY(add_files(writer, added, root, report));
  if (report.entries == 0) {
    return {};
  }
  std::uint64_t bytes = report.bytes;
  std::vector<std::string> replaced;
  for (const OpenPack& pack : packs) {
    bytes += pack.bytes;
    replaced.push_back(pack.name);
  }
  if (packs.size() < kManyPacks && bytes <= kMostPacked) {
    replaced.clear();
  } else {
    TRY(merge_packs(writer, packs, kMostPacked - report.bytes));
  }
  TRY(writer.finish());
  remove_packs(places.store, replaced);
  return {};
}

/// Reports that the store is not used any more, and why.
CacheReport refuse(const std::string& why) {
  return {0, 0, {why}, true};
}

}  // namespace

CacheReport try_store(const CachePlaces& places) {
  if (const auto tried = probe_store(places.store); !tried) {
    return refuse(tried.error().message + "; nothing new is kept: name a folder of yours");
  }
  remove_packs(places.store, {});
  return {};
}

CacheReport fill_folder(const CachePlaces& places) {
  CacheReport report;
  const auto root = open_root(places);
  if (!root) {
    return refuse(root.error().message);
  }
  remove_stale_staging(places.folder);
  auto packs = open_packs(places.store, report.remarks);
  add_packs(packs, places, *root, Where::Below, report);
  add_packs(packs, places, *root, Where::Beside, report);  // large headers, which may not come in time
  return report;
}

CacheReport keep_new(const CachePlaces& places, std::chrono::system_clock::time_point latest,
                     std::chrono::seconds most_time) {
  const auto end = std::chrono::steady_clock::now() + most_time;
  CacheReport report;
  const auto root = open_root(places);
  if (!root) {
    return refuse(root.error().message);
  }
  std::vector<std::string> ignored;  // remarks that the start of the job has logged already
  const std::vector<OpenPack> packs = open_packs(places.store, ignored);
  std::unordered_set<std::string> packed;
  for (const OpenPack& pack : packs) {
    for (const PackEntry& entry : pack.index.entries) {
      packed.insert(entry.path);
    }
  }
  const auto since_1970 = std::chrono::duration_cast<std::chrono::nanoseconds>(latest.time_since_epoch());
  const NewFiles added{choose_new(builtin_table(), find_files(places, *root), packed, since_1970.count()), end};
  if (added.files.empty()) {
    return report;
  }
  if (const auto written = write_pack(places, added, packs, *root, report); !written) {
    report = {0, 0, {written.error().message}, false};
  }
  return report;
}

// --- Reports --------------------------------------------------------------------------------------

BOOST_DESCRIBE_STRUCT(CacheReport, (), (entries, bytes, remarks, is_refused))

std::string write_report(CacheReport report) {
  for (std::string& remark : report.remarks) {
    remark = one_line(remark, 400);
  }
  return json::serialize(json::value_from(report));
}

CacheReport read_report(const std::string& answer) {
  boost::system::error_code failed;
  const auto read = json::try_value_to<CacheReport>(json::parse(answer, failed));
  CacheReport report = read ? *read : CacheReport();
  if (report.remarks.size() > kMostNotices) {
    const std::size_t more = report.remarks.size() - kMostNotices;
    report.remarks.resize(kMostNotices);
    report.remarks.push_back("and " + std::to_string(more) + " more such lines");
  }
  return report;
}

}  // namespace muster::compile_cache
