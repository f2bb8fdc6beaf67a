// Opens, reads and writes small files and descriptors.
// Links are followed one by one, since the last of them may lead to a missing file.
#include "base/file_io.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace muster {

namespace {

/// True for a link that another user has put into a folder of all users, such as /tmp, as the kernel tells them with
/// fs.protected_symlinks (proc_sys_fs(5)).
bool is_strangers(const std::filesystem::path& link) {
  const std::string folder = link.has_parent_path() ? link.parent_path().string() : ".";
  struct stat holding {};
  struct stat held {};
  if (::stat(folder.c_str(), &holding) != 0 || ::lstat(link.c_str(), &held) != 0) {
    return false;
  }
  const bool is_of_all = (holding.st_mode & S_ISVTX) != 0 && (holding.st_mode & S_IWOTH) != 0;
  return is_of_all && held.st_uid != ::geteuid() && held.st_uid != holding.st_uid;
}

}  // namespace

std::filesystem::path follow_links(std::filesystem::path path, std::error_code& failed) {
  constexpr int kMost = 40;  // the kernel's limit
  failed.clear();
  for (int links = 0; links <= kMost; ++links) {
    std::error_code is_no_link;
    const std::filesystem::path target = std::filesystem::read_symlink(path, is_no_link);
    if (is_no_link) {
      return path;
    }
    if (is_strangers(path)) {
      failed = std::make_error_code(std::errc::permission_denied);
      return path;
    }
    path = path.parent_path() / target;  // an absolute target replaces all of it
  }
  failed = std::make_error_code(std::errc::too_many_symbolic_link_levels);
  return path;
}

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) == 0) {
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
  const int error_number = errno;
  if (error_number != EMFILE) {
    return system_error("cannot make a pipe", error_number);
  }
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  return Error{ErrorKind::System, "cannot make a pipe: all " + std::to_string(limit.rlim_cur) +
                                      " file descriptors are in use; raise the hard limit (ulimit -Hn)"};
}

UniqueFd open_null(NullFor use) {
  UniqueFd device(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (device) {
    return device;
  }
  auto pipe = make_pipe();
  if (!pipe) {
    return {};
  }
  return std::move(use == NullFor::Reading ? pipe->read : pipe->write);
}

ReadResult read_up_to(int fd, std::size_t most) {
  ReadResult result{std::string(most, '\0')};
  std::size_t size = 0;
  ssize_t count = 1;
  while (size < most && count != 0 && result.error_number == 0) {
    count = ::read(fd, result.bytes.data() + size, most - size);
    size += count > 0 ? static_cast<std::size_t>(count) : 0;
    result.error_number = count < 0 && errno != EINTR ? errno : 0;
  }
  result.bytes.resize(size);
  return result;
}

std::optional<std::string> read_regular_file(const std::string& path) {
  std::error_code ignored;                                 // a file that cannot be examined cannot be read either
  if (!std::filesystem::is_regular_file(path, ignored)) {  // opening a pipe could block for ever
    return std::nullopt;
  }
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? std::optional(text.str()) : std::nullopt;
}

UniqueFd open_untrusted_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
  struct stat status {};
  return file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) ? std::move(file) : UniqueFd();
}

std::string read_untrusted_file(const std::string& path, std::size_t limit) {
  const UniqueFd file = open_untrusted_file(path);
  return file ? read_up_to(file.get(), limit).bytes : std::string();
}

namespace {

/// True when write(2) may be tried again.
bool wait_until_writable(int fd, int error_number, std::chrono::milliseconds timeout) {
  if (error_number == EINTR) {
    return true;
  }
  pollfd ready{fd, POLLOUT, 0};
  return error_number == EAGAIN && ::poll(&ready, 1, static_cast<int>(timeout.count())) != 0;
}

}  // namespace

WriteResult write_all(int fd, std::string_view bytes, std::chrono::milliseconds timeout) {
  while (!bytes.empty()) {
    const ssize_t taken = ::write(fd, bytes.data(), bytes.size());
    const int error_number = taken == 0 ? ENOSPC : errno;
    if (taken > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(taken));
    } else if (taken == 0 || !wait_until_writable(fd, error_number, timeout)) {
      return {bytes.size(), error_number};
    }
  }
  return {};
}

bool is_writable_by_alone(const struct stat& status, uid_t user) {
  return status.st_uid == user && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_writable_by_alone(int file, uid_t user) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && is_writable_by_alone(status, user);
}

bool is_open_to_renames(const struct stat& folder) {
  return (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (folder.st_mode & S_ISVTX) == 0;
}

namespace {

/// Gives the file the old one's owner and group, as far as this user may. Returns the mode that it may have.
mode_t keep_owner(int file, const struct stat& old, mode_t mode) {
  constexpr gid_t kUnchanged = static_cast<gid_t>(-1);
  if (::fchown(file, old.st_uid, old.st_gid) == 0 || ::fchown(file, kUnchanged, old.st_gid) == 0) {
    return mode;
  }
  constexpr unsigned kBitsOfGroup = 3;
  return mode & (~static_cast<mode_t>(S_IRWXG) | (mode & S_IRWXO) << kBitsOfGroup);
}

}  // namespace

Result<> write_whole_file(const std::string& path, std::string_view text, mode_t mode, OnDisk on_disk,
                          const struct stat* old) {
  const std::string made = path + ".new";
  (void)::unlink(made.c_str());  // left by a run that was killed; or a stranger's pipe, at which we would wait
  const UniqueFd file(::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kPrivateFileMode));
  if (file && old != nullptr) {
    mode = keep_owner(file.get(), *old, mode);
  }
  if (!file || (mode != kPrivateFileMode && ::fchmod(file.get(), mode) != 0)) {  // whatever the umask is
    return system_error("cannot write '" + path + "'", errno);
  }
  const auto written = write_all(file.get(), text);
  const bool is_done = written.missing == 0 && (on_disk == OnDisk::Later || ::fsync(file.get()) == 0) &&
                       ::rename(made.c_str(), path.c_str()) == 0;
  if (!is_done) {
    const int failed = written.missing > 0 ? written.error_number : errno;
    (void)::unlink(made.c_str());  // such as an empty one on a full disk
    return system_error("cannot write '" + path + "'", failed);
  }
  return {};
}

Result<void*> map_shared(std::size_t bytes, std::string_view attempt) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {  // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): the macro has it
    return system_error(attempt, errno);
  }
  return memory;
}

}  // namespace muster
