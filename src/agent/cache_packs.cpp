// Reads and writes packs of compilers' caches.
#include "agent/cache_packs.hpp"

#include "base/random.hpp"
#include "base/text.hpp"
#include "gang/net/token.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <utility>

namespace muster::compile_cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".pack";
constexpr std::string_view kUnfinished = ".part";
constexpr std::size_t kMostNames = 10'000;
constexpr std::size_t kMostPacks = 64;
constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;
constexpr mode_t kStoreMode = 0700;
constexpr std::time_t kStale = 86'400;

std::string temporary_name(const std::string& name) {
  return "." + name + std::string(kUnfinished);
}

/// Names in the folder with this ending, in reverse order of names, which puts newer packs first.
std::vector<std::string> names_in(const std::string& folder, std::string_view ending, std::error_code& failed) {
  std::vector<std::string> names;
  std::size_t seen = 0;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end && seen < kMostNames;
       entry.increment(failed), ++seen) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(ending)) {
      names.push_back(std::move(name));
    }
  }
  std::ranges::sort(names, std::ranges::greater());
  return names;
}

/// Makes a file in the store and removes its name; empty: the store takes no file.
UniqueFd make_unnamed(const std::string& store) {
  std::string path = store + "/.muster-probe-XXXXXX" + std::string(kUnfinished);
  UniqueFd file(::mkostemps(path.data(), static_cast<int>(kUnfinished.size()), O_CLOEXEC));
  if (file) {
    (void)::unlink(path.c_str());
  }
  return file;
}

/// The owner that this file system shows for our files: not always our user. Our user, if it takes no file.
uid_t shown_owner(const std::string& store) {
  const UniqueFd file = make_unnamed(store);
  struct stat status {};
  return file && ::fstat(file.get(), &status) == 0 ? status.st_uid : ::geteuid();
}

Result<> make_store(const std::string& store) {
  if (::mkdir(store.c_str(), kStoreMode) != 0 && errno != EEXIST) {
    return system_error("cannot make '" + store + "'", errno);
  }
  return {};
}

/// Reads exactly `size` bytes; empty: they are not there.
std::optional<std::string> read_at(int file, std::uint64_t offset, std::uint64_t size) {
  std::string bytes(size, '\0');
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(file, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return std::nullopt;
    }
    done += static_cast<std::uint64_t>(count);
  }
  return bytes;
}

/// Reads and checks the pack's mark, trailer and index.
Result<PackIndex> read_index_of(int file, std::uint64_t bytes) {
  if (bytes < kPackMark.size() + kTrailerBytes) {
    return Error{ErrorKind::BadData, "it is not whole, or no pack"};
  }
  const auto tail = read_at(file, bytes - kTrailerBytes, kTrailerBytes);
  const Trailer trailer = TRY(read_trailer(tail.value_or(""), bytes));
  const auto text = read_at(file, bytes - kTrailerBytes - trailer.index_bytes, trailer.index_bytes);
  if (!text || gang::sha256(*text) != trailer.sha256 || read_at(file, 0, kPackMark.size()) != kPackMark) {
    return Error{ErrorKind::BadData, "its checksum differs"};
  }
  return read_index(*text, bytes);
}

/// Opens a pack in the store; fails if it may not be read. `owner` keeps the `shown_owner` for further packs.
Result<OpenPack> open_pack(const std::string& store, const std::string& name, std::optional<uid_t>& owner) {
  errno = 0;
  OpenPack pack{name, open_untrusted_file(store + "/" + name), 0, {}};
  struct stat status {};
  if (!pack.file || ::fstat(pack.file.get(), &status) != 0) {
    return errno == 0 || errno == ELOOP ? Error{ErrorKind::BadData, "it is no regular file"}
                                        : system_error("it cannot be opened", errno);
  }
  if (status.st_uid != ::geteuid()) {
    owner = owner ? owner : shown_owner(store);
    if (status.st_uid != *owner) {
      return Error{ErrorKind::BadData, "it belongs to user " + std::to_string(status.st_uid)};
    }
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{ErrorKind::BadData, "other users may write it"};
  }
  pack.bytes = static_cast<std::uint64_t>(status.st_size);
  pack.index = TRY(read_index_of(pack.file.get(), pack.bytes));
  if (pack.index.user != ::geteuid()) {
    return Error{ErrorKind::BadData, "user " + std::to_string(pack.index.user) + " has made it"};
  }
  return pack;
}

/// The value of the first line with this name: the text behind its colon.
std::string line_of(const std::string& text, std::string_view name) {
  const std::size_t at = text.find(name);
  const std::size_t colon = at == std::string::npos ? at : text.find(':', at);
  return colon == std::string::npos ? ""
                                    : std::string(trim(text.substr(colon + 1, text.find('\n', colon) - colon - 1)));
}

/// Model and features of the CPU: compilers choose instructions by them, and some caches do not know it.
std::string describe_cpu() {
  const std::string text = read_untrusted_file("/proc/cpuinfo", std::size_t{64} << 10U);
  const std::string flags = line_of(text, "flags") + line_of(text, "Features");
  const std::string model = line_of(text, "model name") + line_of(text, "CPU part");
  constexpr std::size_t kDigits = 12;
  return gang::sha256(model + "\n" + flags).substr(0, kDigits);
}

/// The models of NVIDIA's GPUs, and whether there are others. More is not needed: the compilers' keys have the rest.
std::string describe_gpus() {
  std::error_code failed;
  std::vector<std::string> models;
  for (fs::directory_iterator entry("/proc/driver/nvidia/gpus", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    models.push_back(line_of(read_untrusted_file(entry->path().string() + "/information", 4'096), "Model"));
  }
  std::ranges::sort(models);
  models.erase(std::unique(models.begin(), models.end()), models.end());
  for (const char* const device : {"/dev/davinci_manager", "/dev/kfd"}) {
    if (fs::exists(device, failed)) {
      models.emplace_back(fs::path(device).filename().string());
    }
  }
  return models.empty() ? "none" : join(models, ",");
}

}  // namespace

std::string describe_machine() {
  utsname names{};
  (void)::uname(&names);
  std::string text = std::string(names.machine) + " cpu " + describe_cpu() + " gpu " + describe_gpus();
  std::ranges::replace_if(text, is_control, '?');
  return text;
}

std::string problem_of_store(const std::string& store) {
  const UniqueFd folder(::open(store.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!folder || ::fstat(folder.get(), &status) != 0) {
    return errno == ENOENT ? "" : system_error("cannot open '" + store + "'", errno).message;
  }
  if (status.st_uid != 0 && status.st_uid != ::geteuid() && status.st_uid != shown_owner(store)) {
    return "'" + store + "' belongs to user " + std::to_string(status.st_uid) + ": name a folder of yours";
  }
  return is_open_to_renames(status) ? "other users can replace files in '" + store + "' (chmod go-w, or +t)" : "";
}

Result<> probe_store(const std::string& store) {
  TRY(make_store(store));
  errno = 0;
  return make_unnamed(store) ? Result<>() : Result<>(system_error("cannot write into '" + store + "'", errno));
}

namespace {

std::string path_in(const std::string& store, const std::string& name) {
  return fs::path(store) / name;
}

}  // namespace

std::vector<OpenPack> open_packs(const std::string& store, std::vector<std::string>& remarks) {
  std::error_code failed;
  std::vector<OpenPack> packs;
  std::optional<uid_t> owner;
  const std::string machine = describe_machine();
  for (const std::string& name : names_in(store, kEnding, failed)) {
    auto pack = open_pack(store, name, owner);
    if (!pack && ::access(path_in(store, name).c_str(), R_OK) != 0 && errno == EACCES) {
      continue;  // another user's, in a folder that several share
    }
    if (!pack) {
      remarks.push_back("leaving the pack '" + name + "' alone: " + pack.error().message);
    } else if (pack->index.machine == machine && packs.size() < kMostPacks) {
      packs.push_back(std::move(*pack));
    }
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    remarks.push_back("cannot read '" + store + "': " + failed.message());
  }
  return packs;
}

Result<std::string> read_entry(const OpenPack& pack, const PackEntry& entry) {
  auto content = read_at(pack.file.get(), entry.offset, entry.size);
  if (!content || gang::sha256(*content) != entry.sha256) {
    return Error{ErrorKind::BadData, content ? "the checksum of '" + entry.path + "' differs" : "it cannot be read"};
  }
  return std::move(*content);
}

// --- Writing --------------------------------------------------------------------------------------

Result<PackWriter> PackWriter::start(const std::string& store) {
  TRY(make_store(store));
  UniqueFd folder(::open(store.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    return system_error("cannot open '" + store + "'", errno);
  }
  // Names of newer packs come later in their order.
  const std::string name =
      "muster-" + std::to_string(std::time(nullptr)) + "-" + TRY(random_digits(4)) + std::string(kEnding);
  UniqueFd file(::openat(folder.get(), temporary_name(name).c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivateFileMode));
  if (!file) {
    return system_error("cannot write into '" + store + "'", errno);
  }
  PackWriter writer(std::move(folder), std::move(file), name);
  writer.index_.machine = describe_machine();
  writer.index_.user = ::geteuid();
  TRY(writer.write(kPackMark));
  return writer;
}

PackWriter::~PackWriter() {
  if (file_ && !is_finished_) {
    (void)::unlinkat(folder_.get(), temporary_name(name_).c_str(), 0);
  }
}

Result<> PackWriter::flush() {
  const auto written = write_all(file_.get(), buffer_);
  buffer_.clear();
  return written.missing == 0 ? Result<>() : Result<>(system_error("cannot write a pack", written.error_number));
}

Result<> PackWriter::write(std::string_view bytes) {
  buffer_ += bytes;
  return buffer_.size() < kBufferBytes ? Result<>() : flush();
}

Result<> PackWriter::add(PackEntry entry, const std::string& content) {
  entry.size = content.size();
  entry.sha256 = gang::sha256(content);
  index_.entries.push_back(std::move(entry));
  return write(content);
}

Result<> PackWriter::finish() {
  const std::string index = write_index(index_);
  TRY(write(index));
  TRY(write(write_trailer(index.size(), gang::sha256(index))));
  TRY(flush());
  if (::fsync(file_.get()) != 0) {
    return system_error("cannot write a pack", errno);
  }
  if (::renameat(folder_.get(), temporary_name(name_).c_str(), folder_.get(), name_.c_str()) != 0) {
    return system_error("cannot name a pack", errno);
  }
  is_finished_ = true;
  (void)::fsync(folder_.get());
  return {};
}

void remove_packs(const std::string& store, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    (void)::unlink(path_in(store, name).c_str());
  }
  std::error_code failed;
  for (const std::string& name : names_in(store, kUnfinished, failed)) {
    struct stat status {};
    const std::string path = path_in(store, name);
    const bool is_ours = name.starts_with(".muster-") && ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_ours && status.st_uid == ::geteuid() && status.st_mtime < std::time(nullptr) - kStale) {
      (void)::unlink(path.c_str());
    }
  }
}

}  // namespace muster::compile_cache
