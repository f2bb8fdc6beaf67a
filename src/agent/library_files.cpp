// Finds files by /proc, and asks the kernel what the page cache has (mincore(2)).
#include "agent/library_files.hpp"

#include "agent/free_memory.hpp"
#include "agent/kept_files.hpp"
#include "base/file_io.hpp"
#include "base/text.hpp"
#include "environment/mounted_files.hpp"
#include "environment/mounts.hpp"
#include "process/descendants.hpp"
#include "process/priority.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20'000;
constexpr std::int64_t kMostFileBytes = std::int64_t{64} << 30U;
constexpr std::size_t kMostProcesses = 64;
/// Files are read in parts, so that several threads can read a large one.
constexpr std::uint64_t kPartBytes = std::uint64_t{8} << 20U;
/// Number of the reader threads: a file server gets so many requests at once.
constexpr std::size_t kReaders = 8;

/// Knows by the mounts of this process which files are read from the network.
class NetworkFiles {
 public:
  bool contain(const std::string& path) {
    const std::string folder = path.substr(0, path.rfind('/'));
    const auto known = folders_.find(folder);
    return known != folders_.end() ? known->second
                                   : folders_.emplace(folder, is_read_from_network(mounts_, folder)).first->second;
  }

 private:
  std::string mounts_ = read_mounts();
  std::map<std::string, bool> folders_;
};

/// True for a file of root or of this user: nobody else can change it while we read.
bool is_trusted(const struct stat& status) {
  return status.st_uid == 0 || status.st_uid == ::geteuid();
}

/// True if an eighth of this part of a file is in the page cache: programs use no more of many libraries. Empty: the
/// kernel tells only the owner of the file.
std::optional<bool> is_cached(int file, const struct stat& status, std::uint64_t begin, std::uint64_t size) {
  constexpr std::size_t kPart = 8;
  if (::geteuid() != 0 && status.st_uid != ::geteuid()) {
    return std::nullopt;
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, static_cast<off_t>(begin));
  if (memory == MAP_FAILED) {  // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): the macro has it
    return true;               // its file system keeps nothing in the page cache
  }
  const Unmap unmap{size};
  std::vector<unsigned char> pages((size + page - 1) / page);
  const bool is_known = ::mincore(memory, size, pages.data()) == 0;
  const auto here = std::ranges::count_if(pages, [](unsigned char one) { return (one & 1U) != 0; });
  unmap(memory);
  return !is_known || static_cast<std::size_t>(here) * kPart >= pages.size();
}

// --- Listing ------------------------------------------------------------------------------------

/// Collects files, and writes them as notes.
class FileList {
 public:
  bool is_full() const { return seen_.size() >= kMostFiles || notes_.size() >= kMostListBytes; }

  /// Adds a regular file that is not empty, if only root or this user can change it.
  void add(const std::string& path) {
    struct stat status {};
    if (is_full() || path.find('\n') != std::string::npos || !network_.contain(path) || !seen_.insert(path).second) {
      return;
    }
    if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 && is_trusted(status)) {
      notes_ += standby::note_of(state_of_file(path, status));
    }
  }

  const std::set<std::string>& paths() const { return seen_; }
  const std::string& notes() const { return notes_; }

 private:
  NetworkFiles network_;
  std::set<std::string> seen_;
  std::string notes_;
};

/// The folder above the interpreter's "bin": "/usr" for /usr/bin/python3.12; empty: it is in no such folder.
std::string prefix_of(const std::string& proc) {
  std::error_code failed;
  const fs::path prefix = fs::read_symlink(proc + "/exe", failed).parent_path().parent_path();
  return prefix.has_relative_path() ? prefix.string() + "/" : "";
}

bool is_library(const std::string& path, const std::string& prefix) {
  return path.find("/site-packages/") != std::string::npos || path.find("/dist-packages/") != std::string::npos ||
         (!prefix.empty() && path.starts_with(prefix));
}

/// True if the file was opened only for reading, by the text that /proc has about its descriptor.
bool is_read_only(const std::string& fd_info) {
  constexpr int kOctal = 8;
  const std::string flags = value_at(read_fields(fd_info), "flags");
  return !flags.empty() && (std::strtoul(flags.c_str(), nullptr, kOctal) & unsigned{O_ACCMODE}) == unsigned{O_RDONLY};
}

/// Adds what the process has mapped and opened.
void add_files_of(pid_t pid, FileList& list) {
  const std::string proc = "/proc/" + std::to_string(pid);
  struct stat status {};
  if (::stat(proc.c_str(), &status) != 0 || status.st_uid != ::geteuid()) {
    return;
  }
  const std::string prefix = prefix_of(proc);
  for (const std::string& line : split(read_regular_file(proc + "/maps").value_or(""), '\n')) {
    const std::string path = line.substr(std::min(line.find('/'), line.size()));  // the fields before it have no slash
    if (is_library(path, prefix)) {
      list.add(path);
    }
  }
  const std::string links = proc + "/fd/";
  const std::string flags = proc + "/fdinfo/";
  for (const std::string& fd : entries_of(links)) {
    std::error_code closed;
    const std::string path = fs::read_symlink(links + fd, closed).string();
    if (is_library(path, prefix) && is_read_only(flags + fd)) {
      list.add(path);
    }
  }
}

/// The folder that has the file's modules: ".../site-packages", or ".../lib/python3.12" for the standard library; empty: there is none.
std::string module_folder_of(const std::string& path) {
  constexpr std::string_view kCompiledIn = "/lib-dynload/";
  for (const std::string_view name : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = path.find(name); at != std::string::npos) {
      return path.substr(0, at + name.size() - 1);
    }
  }
  const std::size_t at = path.find(kCompiledIn);
  return at == std::string::npos ? "" : path.substr(0, at);
}

bool is_file_cached(const std::string& path) {
  const UniqueFd file = open_untrusted_file(path);
  struct stat status {};
  return file && ::fstat(file.get(), &status) == 0 && status.st_size > 0 &&
         is_cached(file.get(), status, 0, static_cast<std::uint64_t>(status.st_size)).value_or(false);
}

/// Adds the compiled modules in a folder that were read not long ago. Returns how many.
std::size_t add_compiled(const std::string& folder, FileList& list) {
  const std::string compiled = folder + "/__pycache__/";
  std::size_t count = 0;
  for (const std::string& name : entries_of(compiled)) {
    const std::string path = compiled + name;
    if (name.ends_with(".pyc") && is_file_cached(path)) {
      list.add(path);
      ++count;
    }
  }
  return count;
}

std::vector<std::string> subfolders_of(const std::string& folder) {
  std::vector<std::string> folders;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    std::error_code unknown;
    if (entry.symlink_status(unknown).type() == fs::file_type::directory && entry.path().filename() != "__pycache__") {
      folders.push_back(entry.path().string());
    }
  }
  return folders;
}

/// Adds compiled modules by the page cache: no process has them open. Stops at folders of which none was read.
void add_modules(const std::string& top, FileList& list) {
  std::vector<std::string> folders{top};
  while (!folders.empty() && !list.is_full()) {
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    if (add_compiled(folder, list) > 0 || folder == top) {
      std::ranges::move(subfolders_of(folder), std::back_inserter(folders));
    }
  }
}

}  // namespace

std::string list_library_files(pid_t process) {
  (void)lower_priority(::getpid());
  FileList list;
  add_files_of(process, list);
  const std::vector<Process> below = descendants(read_processes(), process, {});
  for (std::size_t i = 0; i < std::min(below.size(), kMostProcesses); ++i) {
    add_files_of(below[i].pid, list);
  }
  std::set<std::string> folders;
  std::ranges::transform(list.paths(), std::inserter(folders, folders.end()), module_folder_of);
  folders.erase("");
  for (const std::string& folder : folders) {
    add_modules(folder, list);
  }
  return list.notes();
}

// --- Reading ------------------------------------------------------------------------------------

namespace {

struct Part {
  std::size_t file = 0;
  std::uint64_t begin = 0;
};

/// The work that all readers share.
struct Reading {
  std::vector<standby::FileState> files;
  std::vector<Part> parts;
  const MemoryGroup& group;
  ReadAheadCounts& counts;
  std::vector<int> are_counted = std::vector<int>(files.size(), 0);  ///< by file; 1: it is one of `counts.files`
  std::atomic<std::size_t> begun = 0;                                ///< parts that a reader has taken
};

void add_to(std::uint64_t& count, std::uint64_t number) {
  std::atomic_ref(count).fetch_add(number);
}

/// Asks what Python asks before it reads a compiled module, because the kernel keeps the answers for some time.
void ask_as_python_does(const fs::path& compiled) {
  const fs::path folder = compiled.parent_path().parent_path();
  const std::string file = compiled.filename().string();
  const std::string module = file.substr(0, file.find('.'));
  struct stat status {};
  (void)::stat((folder / (module + ".py")).c_str(), &status);
  if (module == "__init__") {
    (void)entries_of(folder.string());
  }
}

void read_part(Reading& reading, const Part& part, std::vector<char>& buffer) {
  const standby::FileState& wanted = reading.files[part.file];
  struct stat status {};
  if (::lstat(wanted.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return;  // the opening of a device may have an effect
  }
  const UniqueFd file = open_untrusted_file(wanted.path);
  if (!file || ::fstat(file.get(), &status) != 0 || !is_trusted(status) ||
      state_of_file(wanted.path, status) != wanted) {
    return;
  }
  const std::uint64_t end = std::min(part.begin + kPartBytes, static_cast<std::uint64_t>(wanted.size));
  if (is_cached(file.get(), status, part.begin, end - part.begin).value_or(false)) {
    return;
  }
  (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  for (std::uint64_t at = part.begin; at < end;) {
    const std::uint64_t size = std::min<std::uint64_t>(buffer.size(), end - at);
    const ssize_t count = ::pread(file.get(), buffer.data(), size, static_cast<off_t>(at));
    if (count <= 0) {
      return;
    }
    at += static_cast<std::uint64_t>(count);
    add_to(reading.counts.bytes, static_cast<std::uint64_t>(count));
  }
  const bool is_counted = std::atomic_ref(reading.are_counted[part.file]).exchange(1) != 0;
  add_to(reading.counts.files, is_counted ? 0 : 1);
  if (wanted.path.ends_with(".pyc")) {
    ask_as_python_does(wanted.path);
  }
}

/// Reads one part after the other, until all are taken.
void read_parts(Reading& reading) {
  constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;
  std::vector<char> buffer(kBufferBytes);
  for (;;) {
    const std::size_t next = reading.begun++;
    const std::uint64_t after = std::atomic_ref(reading.counts.bytes).load() + kPartBytes;
    if (next >= reading.parts.size() || !have_room(reading.group, after)) {
      return;
    }
    read_part(reading, reading.parts[next], buffer);
  }
}

/// The files of a list that are read from the network, the largest first.
std::vector<standby::FileState> files_of(std::string_view list) {
  std::vector<standby::FileState> files = standby::read_imports("0\n" + std::string(list)).files;
  NetworkFiles network;
  std::erase_if(files, [&network](const standby::FileState& file) {
    const bool is_plain = file.path.starts_with('/') && fs::path(file.path).lexically_normal() == file.path;
    return !is_plain || file.size <= 0 || file.size > kMostFileBytes || !network.contain(file.path);
  });
  std::ranges::stable_sort(files, std::ranges::greater(), &standby::FileState::size);
  files.resize(std::min(files.size(), kMostFiles));
  return files;
}

}  // namespace

void read_library_files(std::string_view list, const MemoryGroup& group, ReadAheadCounts& counts) {
  (void)lower_priority(::getpid());
  Reading reading{files_of(list), {}, group, counts};
  for (std::size_t i = 0; i < reading.files.size(); ++i) {
    for (std::int64_t begin = 0; begin < reading.files[i].size; begin += static_cast<std::int64_t>(kPartBytes)) {
      reading.parts.push_back({i, static_cast<std::uint64_t>(begin)});
    }
  }
  // Threads and not processes: SIGKILL does not end a reader that hangs, and a process of its own would count as one of the job.
  std::vector<std::jthread> readers;
  const auto read = [&reading] { read_parts(reading); };
  try {
    while (readers.size() < std::min(kReaders, reading.parts.size())) {
      readers.emplace_back(read);
    }
  } catch (const std::system_error&) {
    return;  // those that could be made go on; the destructor waits for them
  }
}

}  // namespace muster
